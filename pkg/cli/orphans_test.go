// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

func TestZ21GetOrphans(t *testing.T) {
	hub, member := joined(t)
	mark := func(ref, work, of string) {
		member.put(ref, map[string]any{"metadata": map[string]any{
			"uid":         "uid of " + ref,
			"labels":      map[string]any{propagation.LabelMemberWork: work},
			"annotations": map[string]any{applying.AnnotationHub: of},
		}})
	}
	mark("v1/ConfigMap/shop/young", "young", "hub")
	mark("v1/ConfigMap/shop/theirs", "theirs", "another hub")
	mark("apps/v1/Deployment/shop/known", hub.get(hub.works()[0]).GetName(), "hub")
	nginx := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	mark("apps/v1/Deployment/shop/formerly", propagation.FormerWorkName(propagation.BindingOf(nginx)), "hub") // Z34: the hub knows its Work by both names
	before := member.refs()

	a := run(t, hub, "get", "orphans", "-o", "name")
	a.wants(t, "")
	if diff := cmp.Diff("member1 configmap/young\n", a.out); diff != "" {
		t.Error(diff)
	}
	run(t, hub, "get", "orphans", "no-such-member").wants(t, "no-such-member")
	if diff := cmp.Diff(before, member.refs()); diff != "" {
		t.Errorf("the member changed: %s", diff)
	}
	member.remove("v1/ConfigMap/shop/young")
	a = run(t, hub, "get", "orphans")
	a.wants(t, "")
	if a.out != "" {
		t.Errorf("nothing is orphaned, and it says %s", a.out)
	}
}
