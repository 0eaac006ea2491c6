// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/test/pipelinetest/fixture"
)

// The definitions of policies, of bindings or of both are missing: what was propagated
// cannot be told, and what to do is.
func TestZ11WithoutDefinitionsNobodyCanTell(t *testing.T) {
	for lost, asked := range map[string][]string{
		"policies":                            {"explain deploy/nginx", "explain pp/web", "get", "get -A", "history pp/web"},
		"bindings":                            {"explain deploy/nginx", "explain pp/web", "get", "get -A", "get deploy", "get deploy/nginx", "get deploy/nginx -w", "history deploy/nginx", "events deploy/nginx"},
		"clusterpropagationpolicies bindings": {"explain deploy/nginx", "get deploy/nginx"},
		"policies bindings":                   {"explain deploy/nginx", "explain pp/web", "get", "get deploy/nginx", "history deploy/nginx"},
	} {
		for _, args := range asked {
			hub := serve(t, "hub").shop()
			p := fixture.Policy("web").Kind().To("member1")
			hub.policy(p)
			hub.propagated(fixture.Deployment("nginx"), p)
			hub.refuse = func(r *http.Request) *apierrors.StatusError {
				for _, plural := range strings.Fields(lost) {
					if err := failing(plural, 404)(r); err != nil || strings.Contains(r.URL.Path, plural+"/") {
						return failing("/", 404)(r)
					}
				}
				return nil
			}
			a := run(t, hub, strings.Fields(args)...)
			a.wants(t, "nobody can tell what was propagated, and members keep what they have: install them with 'kubectl apply -f config/300-crds'")
			if strings.Contains(a.out, "propagated") {
				t.Errorf("without %s, %s says\n%s", lost, args, a.out)
			}
		}
	}
}
