// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

func TestC4SelectorsThatSelectNothingTakeNothingAway(t *testing.T) {
	item := func(kind, name string, labels map[string]any) placing.Item {
		k := key("v1", kind, "", name)
		if kind == "ClusterRole" {
			k.APIVersion = "rbac.authorization.k8s.io/v1"
		}
		i, err := placing.NewItem(k, object(k, labels))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	spaces := func(app string) placementv1.ClusterResourceSelector {
		return placementv1.ClusterResourceSelector{Version: "v1", Kind: "Namespace", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	}
	own := func(values ...string) placementv1.ClusterResourceSelector {
		return placementv1.ClusterResourceSelector{Version: "v1", Kind: "Namespace", LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "example.karmada.io/app", Operator: metav1.LabelSelectorOpIn, Values: values}},
		}}
	}
	widgets := placementv1.ClusterResourceSelector{Group: "example.com", Version: "v1", Kind: "Widget"}
	nginx, bank := item("Namespace", "shop", map[string]any{"app": "nginx"}), item("Namespace", "bank", map[string]any{"app": "bank"})
	inside := mustItem(t, key("v1", "ConfigMap", "shop", "a"))
	reader := item("ClusterRole", "reader", map[string]any{"app": "nginx"})
	for name, tc := range map[string]struct {
		selectors    placing.Selectors
		latest, read []placing.Item
		dark         string
		want         []string
	}{
		"a label that nothing has, and nothing is selected": {selectors: placing.Selectors{spaces("ngnix")}, latest: []placing.Item{nginx, inside}, want: []string{"shop for Namespace with app=ngnix"}},
		"a label that nothing has, beside another of the kind": {
			selectors: placing.Selectors{spaces("ngnix"), spaces("bank")}, latest: []placing.Item{nginx, bank}, read: []placing.Item{bank}, want: []string{"shop for Namespace with app=ngnix"},
		},
		"a label that nothing has, in the place of another kind": {selectors: placing.Selectors{spaces("ngnix")}, latest: []placing.Item{reader}, want: []string{"reader for Namespace with app=ngnix"}},
		"of another kind is what leaves, and something stays":    {selectors: placing.Selectors{spaces("ngnix"), roles("reader", nil)}, latest: []placing.Item{reader, item("ClusterRole", "writer", nil)}, read: []placing.Item{reader}},
		"a kind of which there is nothing":                       {selectors: placing.Selectors{widgets}, latest: []placing.Item{nginx}, want: []string{"shop for Widget"}},
		"a kind of which there is nothing, beside what stays":    {selectors: placing.Selectors{widgets, spaces("bank")}, latest: []placing.Item{nginx, bank}, read: []placing.Item{bank}},
		"the owner relabelled it":                                {selectors: placing.Selectors{spaces("nginx")}, latest: []placing.Item{nginx, inside}},
		"the owner relabelled one, and the selectors left another out": {
			selectors: placing.Selectors{spaces("nginx")}, latest: []placing.Item{nginx, bank}, want: []string{"bank for Namespace with app=nginx"},
		},
		"selectors that all find something":                 {selectors: placing.Selectors{spaces("bank")}, latest: []placing.Item{nginx, bank}, read: []placing.Item{bank}},
		"a name that is not there is to blame for any kind": {selectors: placing.Selectors{namespaceNamed("shpo"), roles("reader", nil)}, latest: []placing.Item{reader, nginx}, read: []placing.Item{reader}, want: []string{"shop for Namespace shpo"}},
		"a dark kind is to blame for any kind":              {selectors: placing.Selectors{widgets, roles("reader", nil)}, latest: []placing.Item{reader, nginx}, read: []placing.Item{reader}, dark: "Widget", want: []string{"shop for Widget"}},
		"a name and a label": {
			selectors: placing.Selectors{namespaceNamed("shpo"), spaces("ngnix"), roles("reader", nil)}, latest: []placing.Item{nginx, reader, item("ClusterRole", "writer", nil)}, read: []placing.Item{reader},
			want: []string{"shop for Namespace shpo, Namespace with app=ngnix", "writer for Namespace shpo"},
		},
		"a label that no snapshot has finds what is of its kind": {selectors: placing.Selectors{own("bank")}, latest: []placing.Item{nginx, bank}, read: []placing.Item{bank}},
		"a label that no snapshot has, and nothing is selected":  {selectors: placing.Selectors{own("bnak")}, latest: []placing.Item{bank}, want: []string{"bank for Namespace with example.karmada.io/app in (bnak)"}},
		"nothing was selected before":                            {selectors: placing.Selectors{spaces("ngnix")}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			dark := func(gk schema.GroupKind) bool { return gk.Kind == tc.dark }
			for _, m := range tc.selectors.Mistakes(placing.NewContent(tc.latest), placing.NewContent(tc.read), dark) {
				got = append(got, m.Left.Name+" for "+strings.Join(m.Idle, ", "))
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAMistakeSaysWhatIsWrong(t *testing.T) {
	err := error(placing.Mistake{Left: propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "shop"}, Idle: []string{"Namespace shpo", "Widget"}})
	const want = "Namespace shpo, Widget is selected and not there, and Namespace shop, which is there, would be removed from members: nothing is; correct that selector, or take it out"
	if err.Error() != want {
		t.Errorf("it says %q", err)
	}
}
