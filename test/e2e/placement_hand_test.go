// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An empty snapshot that somebody makes, or a newest one that he deletes, takes nothing
// from members: the first goes, the second is made anew, and the placement tells of it.
func TestZ6SnapshotMadeByHand(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx, p := s.Deployment("nginx"), s.everywhere()
		s.Apply(nginx, p)
		s.Says(p, carried...)
		s.Rest()
		before := s.uids(nginx, members...)
		for _, of := range []struct {
			kind         resource
			name, forged string
			edit         func(o map[string]any)
		}{
			{snapshots, "-0-snapshot", "-9-snapshot", func(o map[string]any) {
				o["spec"] = map[string]any{"selectedResources": []any{}}
			}},
			{policySnapshots, "-0", "-9", func(map[string]any) {}},
		} {
			c := s.lab.hub.on(of.kind, "")
			o, err := c.Get(s.Context(), p.name()+of.name, metav1.GetOptions{})
			if err != nil {
				s.Fatal(err)
			}
			o.SetName(p.name() + of.forged)
			o.SetResourceVersion("")
			o.SetUID("")
			labels := o.GetLabels()
			labels[fleet+"resource-index"], labels[fleet+"policy-index"] = "9", "9"
			o.SetLabels(labels)
			of.edit(o.Object)
			if _, err := c.Create(s.Context(), o, metav1.CreateOptions{}); err != nil {
				s.Fatal(err)
			}
			s.Told(p, "Warning", "SnapshotNotGenuine", p.name()+of.forged)
			s.Eventually(func() error {
				if _, err := c.Get(s.Context(), p.name()+of.forged, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					return fmt.Errorf("%s%s is there yet: %w", p.name(), of.forged, err)
				}
				return nil
			})
			if err := c.Delete(s.Context(), p.name()+of.name, metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		}
		pause(s.Context(), sweep) // a canary would be selected, too
		s.Says(p, carried...)
		s.goesOn(nginx, 2, before, members...)
	})
}

// The policy of an edit whose selectors are refused waits with them.
func TestZ2ThePolicyOfARefusedEditWaits(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx, p := s.Deployment("nginx"), s.everywhere()
		s.Apply(nginx, p)
		s.Says(p, carried...)
		s.Rest()
		before := s.uids(nginx, members...)
		next := p.with("spec.policy", map[string]any{"placementType": "PickAll", "affinity": wanting("e2e-"+s.ns, "x")})
		s.Apply(next.with("spec.resourceSelectors", []any{selector(namespaces, s.ns+"s")}))
		status := s.Says(p, "Scheduled InvalidResourceSelectors False")
		if said := asJSON(status); !strings.Contains(said, "the policy that came with it waits, too") {
			s.Errorf("the placement says %s", said)
		}
		pause(s.Context(), sweep) // a canary would be selected, too
		s.same(nginx, before, members...)
		s.Apply(p.with("spec.policy", map[string]any{"placementType": "PickAll"}))
		s.Says(p, carried...)
		s.goesOn(nginx, 2, before, members...)
	})
}

// A label that no member has takes nothing away: it is named, and nothing moves until it
// is corrected.
func TestZ2AffinityToALabelThatNoMemberHas(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx, p := s.Deployment("nginx"), s.everywhere()
		s.Apply(nginx, p)
		s.Says(p, carried...)
		s.Rest()
		before, key := s.uids(nginx, members...), "e2e-"+s.ns
		s.Apply(p.with("spec.policy", map[string]any{"placementType": "PickAll", "affinity": wanting(key, "prdo")}))
		s.Eventually(func() error {
			return isCondition("ClusterResourcePlacementScheduled", "False", "no cluster has the label "+key+"=prdo", "nothing moves")(s.Live(p).Object)
		})
		pause(s.Context(), sweep) // a canary would be selected, too
		s.goesOn(nginx, 2, before, members...)
		member := newThing(pickMembers, "", members[0])
		s.Patch(member, fmt.Sprintf(`{"metadata":{"labels":{%q:"prdo"}}}`, key))
		defer s.afterwards(member, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key))
		s.Expect(nginx).In(members[0])
	})
}

// placedWork is the Work by which a placement brings its first part to a member.
func (s *scenario) placedWork(p thing, member string) thing {
	return newThing(placedWorks, "fleet-member-"+member, p.name()+"-work")
}

// asItWas waits until a placement's Work says what it said, under the name and the labels
// that it had, is applied, and is another one where it was deleted; its object in the
// member was not written.
func (s *scenario) asItWas(what string, was *unstructured.Unstructured, anew bool, o template, member string, version string) {
	s.Helper()
	err := s.within(timeout, func() error {
		is, err := s.lab.hub.on(placedWorks, was.GetNamespace()).Get(s.Context(), was.GetName(), metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case is.GetDeletionTimestamp() != nil || anew == (is.GetUID() == was.GetUID()):
			return fmt.Errorf("the Work is %s, and was %s", is.GetUID(), was.GetUID())
		case asJSON(is.Object["spec"]) != asJSON(was.Object["spec"]):
			return fmt.Errorf("the Work says %s, and said %s", asJSON(is.Object["spec"]), asJSON(was.Object["spec"]))
		case !maps.Equal(is.GetLabels(), was.GetLabels()) || len(is.GetFinalizers()) == 0:
			return fmt.Errorf("its labels are %v with the finalizers %q, and were %v", is.GetLabels(), is.GetFinalizers(), was.GetLabels())
		}
		return isCondition("Applied", "True", "AllManifestsApplied")(is.Object)
	})
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	pause(s.Context(), sweep)
	if live := s.LiveIn(member, o); live.GetResourceVersion() != version {
		s.Errorf("%s: %s was written in %s: %s", what, o, member, asJSON(live.Object))
	}
}

// A binding is to one member. Who edits that is told so: the next one would be of the same
// name, and the placement would wait for ever.
func TestZ4BindingToAnotherMember(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		_, p := s.aside()
		s.Apply(p)
		s.Says(p, carried...)
		all, err := s.lab.hub.on(pickBindings, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
		if err != nil || len(all.Items) != len(members) {
			s.Fatalf("%d bindings: %v", len(all.Items), err)
		}
		_, err = s.lab.hub.on(pickBindings, "").Patch(s.Context(), all.Items[0].GetName(), mergePatch, []byte(`{"spec":{"targetCluster":"another"}}`), patchOptions)
		if err == nil || !strings.Contains(err.Error(), "targetCluster is immutable: delete the binding") {
			s.Errorf("it is edited: %v", err)
		}
	})
}

// A Work of a placement that somebody deletes, empties or edits is put back, and its
// object in the member stays as it is.
func TestZ3WorkOfAPlacementByHand(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		in := members[1]
		s.Apply(p)
		s.Says(p, carried...)
		w, version := s.placedWork(p, in), s.LiveIn(in, cm).GetResourceVersion()
		another := strings.Replace(asJSON(cm.body), `"one"`, `"edited"`, 1)
		for _, tc := range []struct {
			what, patch string
			deleted     bool
		}{
			{"deleted", "", true},
			{"deleted without its finalizers", `{"metadata":{"finalizers":null}}`, true},
			{"emptied", `{"spec":{"workload":{"manifests":[]}}}`, false},
			{"edited", `{"spec":{"workload":{"manifests":[` + another + `]}}}`, false},
			{"its annotations taken off", `{"metadata":{"annotations":null}}`, false},
			{"its finalizers taken off", `{"metadata":{"finalizers":null}}`, false},
			{"its labels taken off", `{"metadata":{"labels":null}}`, false},
			{"its label names another", `{"metadata":{"labels":{"` + fleet + `parent-CRP":"another"}}}`, false},
			{"deleted without its labels", `{"metadata":{"labels":null,"annotations":null}}`, true},
		} {
			was := s.Live(w)
			if tc.patch != "" {
				s.Patch(w, tc.patch)
			}
			if tc.deleted {
				s.forget("hub", w)
			}
			s.asItWas(tc.what, was, tc.deleted, cm, in, version)
		}
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
	})
}

// A Work that is made anew while its placement is suspended in the member is not applied for
// long: it knows all the same what the member has by the former one.
func TestC15Z3AWorkThatIsMadeAnewKnowsWhatTheFormerOneBrought(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		other := template{newThing(configMaps, cm.namespace(), "more")}.set("data.page", "one")
		in := members[0]
		s.Apply(other, p)
		s.Says(p, carried...)
		s.sluice("suspend", "crp/"+p.name(), "--cluster", in)
		w := s.placedWork(p, in)
		was := s.Live(w)
		s.forget("hub", w)
		s.Eventually(func() error {
			now, err := s.lab.hub.on(placedWorks, was.GetNamespace()).Get(s.Context(), was.GetName(), metav1.GetOptions{})
			if err == nil && now.GetUID() == was.GetUID() {
				return fmt.Errorf("%s is not made anew", w)
			}
			return err
		})
		s.Delete(other)
		s.Expect(other).In(in)
		s.sluice("resume", "crp/"+p.name())
		s.Expect(other).Nowhere()
		s.Expect(cm).In(members...)
		s.Says(p, carried...)
	})
}

// The namespace of a member's Works, of placements.
func TestZ10NamespaceOfPlacementsWorksDeleted(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm, p := s.aside()
		s.Apply(p)
		s.Says(p, carried...)
		in := members[0]
		was, version := s.Live(s.placedWork(p, in)), s.LiveIn(in, cm).GetResourceVersion()
		s.party.together(func() { s.forget("hub", newThing(namespaces, "", was.GetNamespace())) })
		s.asItWas("its namespace deleted", was, true, cm, in, version)
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
	})
}

// A placement's Work that somebody copied into the namespace of a member that is not picked
// leaves nothing there. Under another name it is nobody's, and brings nothing there; under
// its own it is the placement's, which has it removed.
func TestZ3WorkOfAPlacementCopiedToAnotherMember(t *testing.T) {
	t.Parallel()
	for name, renamed := range map[string]bool{"under its name": false, "under another name": true} {
		t.Run(name, func(t *testing.T) {
			once(t, gatesOff, func(s *scenario) {
				cm, p := s.aside()
				p = p.with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list("member1", "member2")})
				s.Apply(p)
				s.Says(p, carried...)
				original := s.Live(s.placedWork(p, "member2"))
				name := original.GetName()
				if renamed {
					name = "copy-of-" + s.ns
				}
				copied := s.copies(original, strings.Replace(original.GetNamespace(), "member2", "member3", 1), name)
				s.Settle()
				s.forget("hub", copied)
				s.ends(copied)
				s.Expect(cm).In("member1", "member2")
				if renamed {
					s.Expect(cm).NeverIn("member3")
				}
			})
		})
	}
}
