// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package matching

import (
	"cmp"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// Exempt says why an object is never a template, whatever selects it; empty: it may be
// one. Objects that Kubernetes or Sluice creates in every cluster must not be copied
// from one cluster to another.
func Exempt(k propagation.TemplateKey) string {
	gvk := k.GroupVersionKind()
	switch {
	case reservedNamespace(k.Namespace):
		return "namespace " + k.Namespace + " is reserved"
	case gvk.Group == "" && gvk.Kind == "Namespace" && (reservedNamespace(k.Name) || k.Name == "default"):
		return "namespace " + k.Name + " is reserved"
	case Own(k):
		return "group " + gvk.Group + " is Sluice's own"
	case neverTemplates[gvk.Group+"/"+gvk.Kind]:
		return "kind " + gvk.Kind + " belongs to the cluster it is in"
	case inEveryCluster(k):
		return "every cluster makes its own " + gvk.Kind + " " + k.Name
	}
	return ""
}

// Own reports whether the object is of one of Sluice's own kinds. Of these the marks of a
// policy say something else than who holds a template, and stay as they are.
func Own(k propagation.TemplateKey) bool { return ownGroups[k.GroupVersionKind().Group] }

// Never returns why no policy may hold the template, whatever selects it: the reason of
// Exempt, or else of Bootstrapped; empty if a policy may.
func Never(t *propagation.Template) string {
	return cmp.Or(Exempt(t.Key), Bootstrapped(t.Key, t.Object))
}

// Bootstrapped returns why an object is never propagated although others of its kind
// may be; empty if it may be. Each API server creates such an object for itself and
// depends on it, as on the ClusterRole cluster-admin. If Sluice took it over in a
// member, it would delete it there one day.
func Bootstrapped(k propagation.TemplateKey, obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	gvk := k.GroupVersionKind()
	own := false
	switch gvk.Group {
	case "":
		own = inEveryCluster(k)
	case "rbac.authorization.k8s.io":
		own = labels["kubernetes.io/bootstrapping"] != nil
	case "flowcontrol.apiserver.k8s.io":
		own = annotations["apf.kubernetes.io/autoupdate-spec"] != nil
	case "apiregistration.k8s.io":
		own = labels["kube-aggregator.kubernetes.io/automanaged"] != nil
	case "scheduling.k8s.io":
		own = strings.HasPrefix(k.Name, "system-") // reserved
	}
	if own {
		return "every cluster makes its own " + gvk.Kind + " " + k.Name
	}
	return ""
}

// inEveryCluster reports whether every cluster has an object of the kind and name.
func inEveryCluster(k propagation.TemplateKey) bool {
	switch k.APIVersion + " " + k.Kind {
	case "v1 ConfigMap":
		return k.Name == "kube-root-ca.crt"
	case "v1 ServiceAccount":
		return k.Name == "default"
	case "v1 Service":
		return k.Namespace == "default" && k.Name == "kubernetes"
	}
	return false
}

func reservedNamespace(ns string) bool {
	_, work := propagation.ClusterOfWorkNamespace(ns)
	return work || ns == propagation.SystemNamespace || strings.HasPrefix(ns, "kube-") || strings.HasPrefix(ns, "karmada-") || strings.HasPrefix(ns, "fleet-")
}

var ownGroups = map[string]bool{
	"policy.karmada.io": true, "work.karmada.io": true, "cluster.karmada.io": true,
	"placement.kubernetes-fleet.io": true, "cluster.kubernetes-fleet.io": true,
	"config.sluice.dev": true,
}

var neverTemplates = map[string]bool{
	"/Node": true, "/Event": true, "events.k8s.io/Event": true, "coordination.k8s.io/Lease": true,
	"/Endpoints": true, "discovery.k8s.io/EndpointSlice": true, "apps/ControllerRevision": true,
	"/Binding": true, "/ComponentStatus": true,
}
