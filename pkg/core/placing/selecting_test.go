// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

func key(apiVersion, kind, namespace, name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
}

// object is an object of that key with these labels.
func object(k propagation.TemplateKey, labels map[string]any) map[string]any {
	meta := map[string]any{"name": k.Name, "labels": labels}
	if k.Namespace != "" {
		meta["namespace"] = k.Namespace
	}
	return map[string]any{"apiVersion": k.APIVersion, "kind": k.Kind, "metadata": meta}
}

func roles(name string, labels map[string]string) placementv1.ClusterResourceSelector {
	s := placementv1.ClusterResourceSelector{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: name}
	if labels != nil {
		s.LabelSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
	return s
}

func namespaceNamed(name string) placementv1.ClusterResourceSelector {
	return placementv1.ClusterResourceSelector{Version: "v1", Kind: "Namespace", Name: name}
}

func TestSelect(t *testing.T) {
	reader := key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader")
	for name, tc := range map[string]struct {
		selectors placing.Selectors
		object    propagation.TemplateKey
		labels    map[string]any
		want      bool
		wantTwice bool
	}{
		"C2: a kind alone selects all of it":                         {selectors: placing.Selectors{roles("", nil)}, object: reader, want: true},
		"C2: another kind of that name is not selected":              {selectors: placing.Selectors{roles("", nil)}, object: key("example.com/v1", "ClusterRole", "", "reader")},
		"C3: a name selects one":                                     {selectors: placing.Selectors{roles("reader", nil)}, object: reader, want: true},
		"C3: a name selects no other":                                {selectors: placing.Selectors{roles("writer", nil)}, object: reader},
		"C4: labels select what has them":                            {selectors: placing.Selectors{roles("", map[string]string{"app": "shop"})}, object: reader, labels: map[string]any{"app": "shop"}, want: true},
		"C4: labels do not select what has others":                   {selectors: placing.Selectors{roles("", map[string]string{"app": "shop"})}, object: reader, labels: map[string]any{"app": "bank"}},
		"C5: one of several selectors is enough":                     {selectors: placing.Selectors{roles("writer", nil), roles("reader", nil)}, object: reader, want: true},
		"C10: two that select one object are an error":               {selectors: placing.Selectors{roles("reader", nil), roles("", map[string]string{"app": "shop"})}, object: reader, labels: map[string]any{"app": "shop"}, wantTwice: true},
		"C10: a version is no other object":                          {selectors: placing.Selectors{roles("reader", nil), {Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "ClusterRole"}}, object: reader, wantTwice: true},
		"C10: two that might and do not are none":                    {selectors: placing.Selectors{roles("reader", nil), roles("", map[string]string{"app": "shop"})}, object: reader, want: true},
		"an object is found in whatever version the source tells it": {selectors: placing.Selectors{roles("reader", nil)}, object: key("rbac.authorization.k8s.io/v1beta1", "ClusterRole", "", "reader"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.selectors.Select(tc.object, object(tc.object, tc.labels))
			var twice *placing.Duplicate
			if got != tc.want || errors.As(err, &twice) != tc.wantTwice || err != nil && !tc.wantTwice {
				t.Errorf("selected %t, %v", got, err)
			}
		})
	}
}

func TestALabelSelectorThatMeansNothingIsAnError(t *testing.T) {
	s := roles("", nil)
	s.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}}
	k := key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader")
	if ok, err := (placing.Selectors{s}).Select(k, object(k, nil)); ok || err == nil {
		t.Errorf("selected %t, %v", ok, err)
	}
}

func TestConcern(t *testing.T) {
	shop := placing.Selectors{namespaceNamed("shop"), roles("reader", nil)}
	labelled := placing.Selectors{{Version: "v1", Kind: "Namespace", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}}}
	for name, tc := range map[string]struct {
		selectors placing.Selectors
		object    propagation.TemplateKey
		want      bool
	}{
		"C7: what is in a selected namespace":           {shop, key("v1", "ConfigMap", "shop", "settings"), true},
		"C7: the namespace":                             {shop, key("v1", "Namespace", "", "shop"), true},
		"what is in another namespace":                  {shop, key("v1", "ConfigMap", "bank", "settings"), false},
		"a name that is selected":                       {shop, key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader"), true},
		"another name":                                  {shop, key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "writer"), false},
		"labels may select any namespace":               {labelled, key("v1", "ConfigMap", "bank", "settings"), true},
		"C11: never what is in a namespace of Sluice's": {labelled, key("v1", "ConfigMap", "fleet-member-one", "settings"), false},
		"C11: never what is in the default namespace":   {labelled, key("v1", "ConfigMap", "default", "settings"), false},
		"C11: never a Pod":                              {shop, key("v1", "Pod", "shop", "nginx"), false},
		"C11: never a Lease":                            {shop, key("coordination.k8s.io/v1", "Lease", "shop", "leader"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.selectors.Concern(tc.object); got != tc.want {
				t.Errorf("concerns: %t", got)
			}
		})
	}
}

func TestC11NeverSelected(t *testing.T) {
	owner := func(obj map[string]any) {
		obj["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"kind": "Any", "controller": true}}
	}
	for name, tc := range map[string]struct {
		object     propagation.TemplateKey
		labels     map[string]any
		edit       func(obj map[string]any)
		hasService bool
		want       bool // exempt
	}{
		"a ConfigMap":                       {object: key("v1", "ConfigMap", "shop", "settings")},
		"the certificates of a cluster":     {object: key("v1", "ConfigMap", "shop", "kube-root-ca.crt"), want: true},
		"a service account":                 {object: key("v1", "ServiceAccount", "shop", "robot")},
		"the default service account":       {object: key("v1", "ServiceAccount", "shop", "default"), want: true},
		"a secret":                          {object: key("v1", "Secret", "shop", "password"), edit: func(obj map[string]any) { obj["type"] = "Opaque" }},
		"a token":                           {object: key("v1", "Secret", "shop", "token"), edit: func(obj map[string]any) { obj["type"] = "kubernetes.io/service-account-token" }, want: true},
		"endpoints of a service":            {object: key("v1", "Endpoints", "shop", "web"), hasService: true, want: true},
		"endpoints that somebody made":      {object: key("v1", "Endpoints", "shop", "web")},
		"a managed slice":                   {object: key("discovery.k8s.io/v1", "EndpointSlice", "shop", "web-1"), labels: map[string]any{"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}, want: true},
		"a slice that somebody made":        {object: key("discovery.k8s.io/v1", "EndpointSlice", "shop", "web-1")},
		"a ReplicaSet of a Deployment":      {object: key("apps/v1", "ReplicaSet", "shop", "web-1"), edit: owner, want: true},
		"a ReplicaSet of nobody":            {object: key("apps/v1", "ReplicaSet", "shop", "web-1")},
		"a revision of a StatefulSet":       {object: key("apps/v1", "ControllerRevision", "shop", "web-1"), edit: owner, want: true},
		"a Job of a CronJob":                {object: key("batch/v1", "Job", "shop", "nightly-1"), edit: owner, want: true},
		"a Job":                             {object: key("batch/v1", "Job", "shop", "once")},
		"a Pod":                             {object: key("v1", "Pod", "shop", "web"), want: true},
		"a Node":                            {object: key("v1", "Node", "", "one"), want: true},
		"an event":                          {object: key("events.k8s.io/v1", "Event", "shop", "e"), want: true},
		"metrics":                           {object: key("metrics.k8s.io/v1beta1", "PodMetrics", "shop", "web"), want: true},
		"a placement":                       {object: key("placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement", "", "crp"), want: true},
		"a policy":                          {object: key("policy.karmada.io/v1alpha1", "PropagationPolicy", "shop", "p"), want: true},
		"the default namespace":             {object: key("v1", "Namespace", "", "default"), want: true},
		"a namespace of Kubernetes":         {object: key("v1", "Namespace", "", "kube-system"), want: true},
		"a namespace of the fleet":          {object: key("v1", "Namespace", "", "fleet-system"), want: true},
		"a namespace of Sluice":             {object: key("v1", "Namespace", "", "sluice-system"), want: true},
		"the Works of a member":             {object: key("v1", "Namespace", "", "karmada-es-member1"), want: true},
		"somebody's namespace":              {object: key("v1", "Namespace", "", "shop")},
		"frozen content of Sluice":          {object: key("v1", "Secret", "shop", "frozen"), labels: map[string]any{"sluice.dev/binding": "b"}, want: true},
		"a role of Kubernetes itself":       {object: key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "cluster-admin"), labels: map[string]any{"kubernetes.io/bootstrapping": "rbac-defaults"}, want: true},
		"a role that somebody made":         {object: key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:metrics-server")},
		"what serves a group of Kubernetes": {object: key("apiregistration.k8s.io/v1", "APIService", "", "v1.apps"), labels: map[string]any{"kube-aggregator.kubernetes.io/automanaged": "onstart"}, want: true},
		"a flow of Kubernetes": {object: key("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "", "exempt"), edit: func(obj map[string]any) {
			obj["metadata"].(map[string]any)["annotations"] = map[string]any{"apf.kubernetes.io/autoupdate-spec": "true"}
		}, want: true},
		"a priority of Kubernetes":       {object: key("scheduling.k8s.io/v1", "PriorityClass", "", "system-node-critical"), want: true},
		"a priority that somebody made":  {object: key("scheduling.k8s.io/v1", "PriorityClass", "", "high")},
		"an object in a fleet namespace": {object: key("v1", "ConfigMap", "fleet-member-one", "settings"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(tc.object, tc.labels)
			if tc.edit != nil {
				tc.edit(obj)
			}
			if got := placing.Exempt(tc.object, obj, tc.hasService); (got != "") != tc.want {
				t.Errorf("exempt: %q", got)
			}
		})
	}
}
