module sluice.dev/test/knative/images

go 1.26.0
