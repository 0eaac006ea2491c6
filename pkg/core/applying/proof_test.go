// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

var (
	key   = propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// workOf is the Work in m1 of the template uid-1, whose binding is b-1.
func workOf(change ...func(*propagation.Work)) *propagation.Work {
	w := &propagation.Work{
		Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(propagation.BindingOf(key))},
		Annotations: map[string]string{
			propagation.AnnotationTemplate:    `{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"nginx"}`,
			propagation.AnnotationBindingUID:  "b-1",
			propagation.AnnotationTemplateUID: "uid-1",
		},
	}
	for _, c := range change {
		c(w)
	}
	return w
}

func template(uid types.UID, change ...func(*propagation.Template)) applying.Read[*propagation.Template] {
	t := &propagation.Template{Key: key, UID: uid, Created: start}
	for _, c := range change {
		c(t)
	}
	return applying.Have(t)
}

// binding is in force for the template, and names the clusters.
func binding(uid, of types.UID, clusters ...string) applying.Read[*propagation.Binding] {
	b := &propagation.Binding{
		Key: propagation.BindingOf(key), UID: uid,
		Annotations: map[string]string{propagation.AnnotationContentHash: "h"},
		Spec:        workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{}},
	}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: key.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: of}
	for _, c := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
	}
	return applying.Have(b)
}

func with(b applying.Read[*propagation.Binding], change func(*propagation.Binding)) applying.Read[*propagation.Binding] {
	change(b.Value)
	return b
}

// parent is in force in those clusters, and refers to the template.
func parent(clusters ...string) *propagation.Binding {
	b := *binding("b-9", "uid-9", clusters...).Value
	b.Key.Name = "parent"
	b.Annotations = map[string]string{propagation.AnnotationContentHash: "h", propagation.AnnotationDependencies: `[{"APIVersion":"apps/v1","Kind":"Deployment","Namespace":"shop","Name":"nginx"}]`}
	return &b
}

// follows names the parent as the binding has it.
func follows(b applying.Read[*propagation.Binding], p *propagation.Binding) applying.Read[*propagation.Binding] {
	b.Value.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: p.Key.Namespace, Name: p.Key.Name, Clusters: p.Spec.Clusters}}
	return b
}

func TestExamine(t *testing.T) {
	member := applying.Have(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	forbidden := applying.Read[*propagation.Template]{Why: string(metav1.StatusReasonForbidden)}
	for name, tc := range map[string]struct {
		work     *propagation.Work
		template applying.Read[*propagation.Template]
		binding  applying.Read[*propagation.Binding]
		cluster  *applying.Read[*clusterv1alpha1.Cluster]
		// unsettled: the binding is not scheduled as its placement asks for.
		unsettled bool
		late      time.Duration
		// defined is when the kind was defined, as seen from the start.
		defined *time.Duration
		parents []*propagation.Binding
		// elsewhere: the member has another name, m9, and the object is to be there.
		elsewhere bool

		proof  applying.Reason
		wanted bool
		left   bool
		reason applying.Reason
		// abandoned: it is let go where it is; untold: so it is where it holds up others.
		abandoned, untold bool
		// outlives: its template went with the former definition of its kind.
		outlives bool
	}{
		"the template is not there": {template: applying.None[*propagation.Template](), proof: applying.ReasonTemplateGone},
		"the template is not there, and its binding still is": {
			template: applying.None[*propagation.Template](), binding: binding("b-1", "uid-1", "m1"), proof: applying.ReasonTemplateGone,
		},
		"Z11: it is not there, and its kind was defined anew after its binding was made": {
			work: workOf(bound), defined: new(time.Second), template: applying.None[*propagation.Template](), reason: applying.ReasonCannotTell, outlives: true,
		},
		"Z11: so it was, and its Work was deleted": {
			work: workOf(bound, deleted), defined: new(time.Second), template: applying.None[*propagation.Template](), reason: applying.ReasonCannotTell, outlives: true,
		},
		"Z11: so it was, and its Work was deleted long ago": {
			work: workOf(bound, deleted), late: 10 * time.Second, defined: new(time.Second), template: applying.None[*propagation.Template](), reason: applying.ReasonCannotTell, untold: true, outlives: true,
		},
		"Z11: so it was, and others refer to it": {
			work: workOf(bound, dependency), late: time.Minute, defined: new(time.Second), template: applying.None[*propagation.Template](), reason: applying.ReasonCannotTell, untold: true, outlives: true,
		},
		"Z11: so it was, and its Work is from before that was noted": {
			work: workOf(func(w *propagation.Work) { w.Created = start }), defined: new(time.Second), template: applying.None[*propagation.Template](), reason: applying.ReasonCannotTell, outlives: true,
		},
		"Z11: it is not there, and its kind was defined before its binding was made": {
			work: workOf(bound), defined: new(-time.Second), template: applying.None[*propagation.Template](), proof: applying.ReasonTemplateGone,
		},
		"Z11: it is not there, and its kind was defined in that very second": {
			work: workOf(bound), defined: new(time.Duration(0)), template: applying.None[*propagation.Template](), proof: applying.ReasonTemplateGone,
		},
		"Z11: it is not there, and nobody knows when its Work was made": {
			defined: new(time.Second), template: applying.None[*propagation.Template](), proof: applying.ReasonTemplateGone,
		},
		"Z11: it is being deleted, and its kind was defined anew": {
			work: workOf(bound), defined: new(time.Second), template: template("uid-1", func(t *propagation.Template) { t.Deleting = true }), proof: applying.ReasonTemplateDeleting,
		},
		"Z24: a dependency's template went a moment ago": {work: workOf(dependency), late: 3 * time.Second, template: applying.None[*propagation.Template](), reason: applying.ReasonMayReturn},
		"Z24: a dependency's template went for good":     {work: workOf(dependency), late: 4 * time.Second, template: applying.None[*propagation.Template](), proof: applying.ReasonTemplateGone},
		"Z24: the hub's clock is ahead":                  {work: workOf(dependency), late: -time.Hour, template: applying.None[*propagation.Template](), proof: applying.ReasonTemplateGone},
		"Z24: a dependency's template was made anew":     {work: workOf(dependency), template: template("uid-2"), binding: binding("b-2", "uid-2", "m1"), wanted: true},
		"the template is being deleted": {
			template: template("uid-1", func(t *propagation.Template) { t.Deleting = true }), binding: binding("b-1", "uid-1", "m1"),
			proof: applying.ReasonTemplateDeleting,
		},
		"Z1: the hub does not serve the kind":                  {template: applying.Read[*propagation.Template]{Answer: applying.NotServed}, reason: applying.ReasonCannotTell},
		"the template may not be read":                         {template: forbidden, reason: applying.ReasonCannotTell},
		"the template may not be read, and a binding wants it": {template: forbidden, binding: binding("b-1", "uid-1", "m1"), wanted: true},
		"the template may not be read, and a binding does not": {template: forbidden, binding: binding("b-1", "uid-1", "m2"), reason: applying.ReasonCannotTell},
		"Z10: it was deleted, and the hub does not serve its template's kind": {
			work: workOf(deleted), late: 10 * time.Second, template: applying.Read[*propagation.Template]{Answer: applying.NotServed}, reason: applying.ReasonCannotTell, untold: true,
		},
		"Z10: so it was a moment ago": {
			work: workOf(deleted), late: 9 * time.Second, template: applying.Read[*propagation.Template]{Answer: applying.NotServed}, reason: applying.ReasonCannotTell,
		},
		"Z10: it was deleted, and its template may not be read": {work: workOf(deleted), late: 10 * time.Second, template: forbidden, reason: applying.ReasonCannotTell, untold: true},
		"Z10: it was deleted, and the hub is in trouble": {
			work: workOf(deleted), late: time.Minute, template: applying.Read[*propagation.Template]{Why: string(metav1.StatusReasonInternalError)}, reason: applying.ReasonCannotTell,
		},
		"nobody asked":                        {reason: applying.ReasonCannotTell},
		"Z3: the Work was deleted by hand":    {template: template("uid-1"), binding: binding("b-1", "uid-1", "m1", "m2"), wanted: true},
		"Z4: the binding was deleted by hand": {template: template("uid-1"), binding: applying.None[*propagation.Binding](), reason: applying.ReasonBindingMissing},
		"Z4, Z10: it was, no policy holds the template, and its Work was deleted": {work: workOf(deleted), late: 10 * time.Second, template: template("uid-1"), binding: applying.None[*propagation.Binding](), reason: applying.ReasonAbandoned, abandoned: true},
		"Z4: so it was a moment ago":                  {work: workOf(deleted), late: 9 * time.Second, template: template("uid-1"), binding: applying.None[*propagation.Binding](), reason: applying.ReasonBindingMissing},
		"Z4: so it was, and its Work was not deleted": {late: time.Minute, template: template("uid-1"), binding: applying.None[*propagation.Binding](), reason: applying.ReasonBindingMissing},
		"Z4: so it was, and another template takes it along": {
			work: workOf(dependency), late: time.Minute, template: template("uid-1"), binding: applying.None[*propagation.Binding](), parents: []*propagation.Binding{parent("m1")}, reason: applying.ReasonBindingMissing,
		},
		"Z4, Z10: so it was, and the binding of who took it along is gone, too": {
			work: workOf(dependency), late: 10 * time.Second, template: template("uid-1"), binding: applying.None[*propagation.Binding](), reason: applying.ReasonAbandoned, abandoned: true,
		},
		"Z4: it was made anew, and who took the template along has no binding": {
			work: workOf(dependency), late: 9 * time.Second, template: template("uid-1"), binding: binding("b-2", "uid-1", "m2"), reason: applying.ReasonCannotTell,
		},
		"Z4, Z10: nor has who took the template along later on": {
			work: workOf(dependency), late: 10 * time.Second, template: template("uid-1"), binding: binding("b-2", "uid-1", "m2"), reason: applying.ReasonAbandoned, abandoned: true,
		},
		"a dependency's binding leaves the cluster out": {
			work: workOf(dependency), template: template("uid-1"), binding: binding("b-1", "uid-1", "m2"), proof: applying.ReasonLeftOut,
		},
		"Z4: so it was, and a policy holds the template": {
			work: workOf(deleted), late: time.Minute, binding: applying.None[*propagation.Binding](), reason: applying.ReasonBindingMissing,
			template: template("uid-1", func(t *propagation.Template) {
				t.Claim = propagation.Claim{Policy: propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"}, ID: "p"}
			}),
		},
		"Z4, Z10: it was, and the Lazy policy that holds the template waits for its change": {
			work: workOf(deleted), late: 10 * time.Second, binding: applying.None[*propagation.Binding](), reason: applying.ReasonAbandoned, abandoned: true,
			template: template("uid-1", waits),
		},
		"Z4: so it was, and the template has changed since the Lazy policy took it": {
			work: workOf(deleted), late: time.Minute, binding: applying.None[*propagation.Binding](), reason: applying.ReasonBindingMissing,
			template: template("uid-1", waits, func(t *propagation.Template) { t.Hash = "another" }),
		},
		"Z4: so it was, and bindings may not be read": {work: workOf(deleted), late: time.Minute, template: template("uid-1"), binding: applying.Read[*propagation.Binding]{Why: "forbidden"}, reason: applying.ReasonCannotTell},
		"Z11: the hub does not serve bindings": {
			template: template("uid-1"), binding: applying.Read[*propagation.Binding]{Answer: applying.NotServed}, reason: applying.ReasonBindingsNotServed,
		},
		"Z4: it leaves out what a parent took there, of whom it knows nothing": {
			template: template("uid-1"), binding: binding("b-1", "uid-1", "m2"), parents: []*propagation.Binding{parent("m1", "m2")}, reason: applying.ReasonCannotTell,
		},
		"it leaves out where a parent does not go": {
			template: template("uid-1"), binding: binding("b-1", "uid-1", "m2"), parents: []*propagation.Binding{parent("m2")}, proof: applying.ReasonLeftOut,
		},
		"Z4: it leaves out what a parent takes there, since somebody edited it": {
			template: template("uid-1"), binding: follows(binding("b-1", "uid-1", "m2"), parent("m2")), parents: []*propagation.Binding{parent("m1", "m2")}, reason: applying.ReasonCannotTell,
		},
		"it leaves out what a parent took there, and its suspension keeps what is elsewhere": {
			template: template("uid-1"), parents: []*propagation.Binding{parent("m1", "m2")}, proof: applying.ReasonLeftOut,
			binding: with(follows(binding("b-1", "uid-1", "m2"), parent("m2")), func(b *propagation.Binding) {
				b.Annotations[propagation.InheritedSuspension(parent("m1").Key)] = "m2"
			}),
		},
		"the binding leaves the cluster out":                    {template: template("uid-1"), binding: binding("b-1", "uid-1", "m2"), proof: applying.ReasonLeftOut},
		"the binding names the same member by another name":     {template: template("uid-1"), binding: binding("b-1", "uid-1", "m2", "m9"), elsewhere: true, reason: applying.ReasonSameMember},
		"the binding leaves it out, and is not scheduled yet":   {template: template("uid-1"), binding: binding("b-1", "uid-1", "m2"), unsettled: true, reason: applying.ReasonCannotTell},
		"the binding was made anew, and names no cluster":       {template: template("uid-1"), binding: binding("b-2", "uid-1"), reason: applying.ReasonCannotTell},
		"the binding was made anew, and leaves the cluster out": {template: template("uid-1"), binding: binding("b-2", "uid-1", "m2"), proof: applying.ReasonLeftOut},
		"the binding is required in the cluster by another": {
			template: template("uid-1"), wanted: true,
			binding: with(binding("b-1", "uid-1", "m2"), func(b *propagation.Binding) {
				b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}}}
			}),
		},
		"nobody needs the dependency any more": {
			template: template("uid-1"), proof: applying.ReasonLeftOut,
			binding: with(binding("b-1", "uid-1"), func(b *propagation.Binding) { b.Spec.Placement = nil }),
		},
		"the binding is being deleted": {
			template: template("uid-1"), reason: applying.ReasonCannotTell,
			binding: with(binding("b-1", "uid-1", "m2"), func(b *propagation.Binding) { b.Deleting = true }),
		},
		"nothing was let through yet": {
			template: template("uid-1"), reason: applying.ReasonCannotTell,
			binding: with(binding("b-1", "uid-1", "m2"), func(b *propagation.Binding) { b.Annotations = nil }),
		},
		"the binding is the former template's":                   {template: template("uid-1"), binding: binding("b-1", "uid-0", "m1"), reason: applying.ReasonCannotTell},
		"Z18: made anew, and its binding wants what is there":    {template: template("uid-2"), binding: binding("b-2", "uid-2", "m1"), wanted: true},
		"Z18: made anew, and its binding leaves the cluster out": {template: template("uid-2"), binding: binding("b-2", "uid-2", "m2"), proof: applying.ReasonTemplateReplaced},
		"Z18: made anew, and wanted under another name":          {template: template("uid-2"), binding: binding("b-2", "uid-2", "m9"), elsewhere: true, reason: applying.ReasonSameMember},
		"Z18: made anew a moment ago, and has no binding yet":    {template: template("uid-2"), binding: applying.None[*propagation.Binding](), reason: applying.ReasonCannotTell},
		"Z18: made anew long ago, and nobody claims it":          {template: template("uid-2"), binding: applying.None[*propagation.Binding](), late: time.Minute, proof: applying.ReasonTemplateReplaced},
		"Z18, L29: made anew, and a Lazy policy waits for it to change": {
			template: template("uid-2", func(t *propagation.Template) {
				t.Claim, t.Hash = propagation.Claim{Policy: propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"}, ID: "p"}, "h"
				t.Baseline = propagation.NewBaseline(t)
			}),
			binding: applying.None[*propagation.Binding](), proof: applying.ReasonTemplateReplaced,
		},
		"Z18: made anew, and the binding is the former's":            {template: template("uid-2"), binding: binding("b-1", "uid-1", "m2"), reason: applying.ReasonCannotTell},
		"Z18: made anew, and its binding cannot be read":             {template: template("uid-2"), late: time.Minute, reason: applying.ReasonCannotTell},
		"a Work from before that names no uid, and the same binding": {work: workOf(noUID), template: template("uid-2"), binding: binding("b-1", "uid-1", "m1"), reason: applying.ReasonCannotTell},
		"a Work from before that names no uid, and another binding":  {work: workOf(noUID), template: template("uid-2"), binding: binding("b-2", "uid-2", "m2"), proof: applying.ReasonLeftOut},
		"the cluster has left":                                       {template: applying.None[*propagation.Template](), cluster: new(applying.None[*clusterv1alpha1.Cluster]()), left: true},
		"the hub does not serve clusters":                            {template: applying.None[*propagation.Template](), cluster: &applying.Read[*clusterv1alpha1.Cluster]{Answer: applying.NotServed}, reason: applying.ReasonCannotTell},
		"Z3: the Work names no template":                             {work: workOf(func(w *propagation.Work) { w.Annotations = nil }), template: applying.None[*propagation.Template](), reason: applying.ReasonUnknownTemplate},
		"Z3: so it does not, and was deleted": {
			work: workOf(deleted, func(w *propagation.Work) { w.Annotations = nil }), template: applying.None[*propagation.Template](), reason: applying.ReasonUnknownTemplate,
		},
		"Z10: so it does not, and was deleted long ago": {
			work: workOf(deleted, func(w *propagation.Work) { w.Annotations = nil }), late: 10 * time.Second, template: applying.None[*propagation.Template](), reason: applying.ReasonUnknownTemplate, abandoned: true,
		},
		"Z10: it is a copy of another name, and was deleted long ago": {
			work: workOf(deleted, func(w *propagation.Work) { w.Key.Name = "copy" }), late: 10 * time.Second, template: template("uid-1"), binding: binding("b-1", "uid-1", "m1"), reason: applying.ReasonUnknownTemplate, abandoned: true,
		},
		"Z34: the Work names the template of another": {
			work: workOf(func(w *propagation.Work) {
				w.Annotations[propagation.AnnotationTemplate] = `{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"other"}`
			}),
			template: applying.None[*propagation.Template](), reason: applying.ReasonUnknownTemplate,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := applying.Evidence{Others: applying.Have(applying.Others{}), Work: tc.work, Template: tc.template, Binding: tc.binding, Cluster: member, Settled: !tc.unsettled, Now: start.Add(tc.late), Parents: tc.parents, Aliases: []string{"m9"}}
			if e.Work == nil {
				e.Work = workOf()
			}
			if tc.defined != nil {
				e.Defined = start.Add(*tc.defined)
			}
			if tc.cluster != nil {
				e.Cluster = *tc.cluster
			}
			f := applying.Examine(e)
			if f.Proof.Reason() != tc.proof || f.Wanted != tc.wanted || f.Left != tc.left || f.Elsewhere != tc.elsewhere || f.Abandoned != tc.abandoned || f.Untold != tc.untold || f.Outlives != tc.outlives {
				t.Errorf("got %+v", f)
			}
			if tc.reason != "" && (f.Reason != tc.reason || f.Proof.Holds() || f.Message == "") {
				t.Errorf("got %+v, want the reason %s and no proof", f, tc.reason)
			}
		})
	}
}

// waits is a template whose policy is Lazy, and waits for it to change.
func waits(t *propagation.Template) {
	t.Hash = "as it was found"
	t.Claim = propagation.Claim{Policy: propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"}, ID: "p"}
	t.Baseline = propagation.NewBaseline(t)
}

// bound is a Work whose binding was made at the start.
func bound(w *propagation.Work) {
	w.Annotations[propagation.AnnotationBindingCreated] = start.Format(time.RFC3339)
	w.Created = start.Add(time.Hour) // a member that joined later
}

// deleted is a Work that was deleted at the start.
func deleted(w *propagation.Work) { w.Deleting, w.Deleted = true, start }

// dependency is a Work that was deleted at the start, and that others refer to.
func dependency(w *propagation.Work) {
	w.Deleting, w.Deleted = true, start
	w.Annotations[propagation.AnnotationDependency] = "true"
}

func noUID(w *propagation.Work) { delete(w.Annotations, propagation.AnnotationTemplateUID) }

func raw(status string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(status)} }

func aggregated(cluster, status string) workv1alpha2.AggregatedStatusItem {
	return workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: true, Status: raw(status)}
}

func TestAliasesOf(t *testing.T) {
	named := func(name, id string) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{ID: id}}
	}
	leaving := named("m4", "a")
	leaving.DeletionTimestamp = &metav1.Time{Time: start}
	all := []*clusterv1alpha1.Cluster{named("m1", "a"), named("m2", "b"), named("m3", "a"), leaving, named("m5", ""), named("m6", "")}
	for name, want := range map[string][]string{"m1": {"m3"}, "m2": nil, "m5": nil} {
		i := slices.IndexFunc(all, func(c *clusterv1alpha1.Cluster) bool { return c.Name == name })
		if got := applying.AliasesOf(all[i], all); !slices.Equal(got, want) {
			t.Errorf("aliases of %s are %v, want %v", name, got, want)
		}
	}
}
