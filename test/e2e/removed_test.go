// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Somebody takes away from the hub what Sluice is made of.

// root is the repository's directory.
func root() string {
	if dir := os.Getenv("SLUICE_E2E_ROOT"); dir != "" {
		return dir
	}
	return "../.."
}

// crd is the definition of a kind of Sluice's, as it is installed.
func (s *scenario) crd(r resource) thing {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join(root(), "config", "300-crds", r.group+"_"+r.plural+".yaml"))
	if err != nil {
		s.Fatal(err)
	}
	body := map[string]any{}
	if err := yaml.Unmarshal(raw, &body); err != nil {
		s.Fatal(err)
	}
	return thing{crds, body}
}

// saved is what a person has of an object in a file.
func saved(o unstructured.Unstructured) unstructured.Unstructured {
	out := unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "spec": o.Object["spec"]}}
	out.SetName(o.GetName())
	out.SetNamespace(o.GetNamespace())
	labels := o.GetLabels()
	delete(labels, ppID)
	delete(labels, cppID)
	out.SetLabels(labels)
	out.SetAnnotations(o.GetAnnotations())
	return out
}

// definedAnew deletes the definitions of kinds, and with them all objects, and puts
// them back; of kinds that people write, the objects, too.
func (s *scenario) definedAnew(writtenByPeople bool, kinds ...resource) {
	s.Helper()
	var files []unstructured.Unstructured
	for _, r := range kinds {
		if writtenByPeople {
			l, err := s.lab.hub.on(r, "").List(s.Context(), metav1.ListOptions{})
			if err != nil {
				s.Fatalf("list %s: %v", r.plural, err)
			}
			files = append(files, l.Items...)
		}
		if err := s.lab.hub.on(crds, "").Delete(s.Context(), r.plural+"."+r.group, metav1.DeleteOptions{}); err != nil {
			s.Fatalf("delete the definition of %s: %v", r.plural, err)
		}
	}
	for _, r := range kinds {
		crd := s.crd(r)
		if err := s.within(timeout, func() error { return s.undefined(r) }); err != nil {
			s.Errorf("after %s: %v", timeout, err)
			s.force(r) // the next test needs it
		}
		s.install(crd)
	}
	s.putBack(files)
}

// undefine deletes the definition of a kind, and waits until it is gone.
func (s *scenario) undefine(r resource) {
	s.Helper()
	if err := s.lab.hub.on(crds, "").Delete(s.Context(), r.plural+"."+r.group, metav1.DeleteOptions{}); err != nil {
		s.Fatalf("delete the definition of %s: %v", r.plural, err)
	}
	if err := s.within(timeout, func() error { return s.undefined(r) }); err != nil {
		s.Errorf("after %s: %v", timeout, err)
		s.force(r) // the next test needs it
	}
}

// undefined says what there still is of a kind whose definition was deleted.
func (s *scenario) undefined(r resource) error {
	crd := r.plural + "." + r.group
	o, err := s.lab.hub.on(crds, "").Get(s.Context(), crd, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := s.lab.hub.on(r, "").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("%s is still there (%w): %s", crd, err, asJSON(o.Object["status"]))
	}
	var held []string
	for _, l := range left.Items {
		held = append(held, asJSON(l.Object["metadata"]))
	}
	return fmt.Errorf("%s is still there, with %d objects: %s; %s", crd, len(held), strings.Join(held, ", "), asJSON(o.Object["status"]))
}

// force takes the finalizers from all objects of a kind whose definition was deleted.
func (s *scenario) force(r resource) {
	s.Helper()
	s.Eventually(func() error {
		left, err := s.lab.hub.on(r, "").List(s.Context(), metav1.ListOptions{})
		if err == nil {
			for _, l := range left.Items {
				s.unfinalize("hub", asThing(r, &l))
			}
		}
		return s.undefined(r)
	})
}

// install installs a definition and waits until the hub serves it.
func (s *scenario) install(crd thing) {
	s.Helper()
	if _, err := s.lab.hub.on(crds, "").Apply(s.Context(), crd.name(), crd.object(), applyOptions); err != nil {
		s.Fatalf("apply %s: %v", crd, err)
	}
	s.Eventually(func() error { return isCondition("Established", "True")(s.Live(crd).Object) })
}

// putBack makes the objects again as people have them in their files.
func (s *scenario) putBack(files []unstructured.Unstructured) {
	s.Helper()
	for _, f := range files {
		o := saved(f)
		r := resource{clusterScoped: o.GetNamespace() == ""}
		for _, k := range []resource{policies, clusterPolicies, overrides, clusterOverrides, placements, clusters} {
			if k.kind == o.GetKind() {
				r = k
			}
		}
		s.Eventually(func() error {
			_, err := s.lab.hub.on(r, o.GetNamespace()).Create(s.Context(), &o, metav1.CreateOptions{FieldManager: "e2e"})
			if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, "NamespaceTerminating") || s.homeless(o) {
				return nil
			}
			return err
		})
	}
}

// homeless tells whether the namespace of an object is gone, as those of scenarios
// that are over.
func (s *scenario) homeless(o unstructured.Unstructured) bool {
	_, err := s.lab.hub.on(namespaces, "").Get(s.Context(), o.GetNamespace(), metav1.GetOptions{})
	return o.GetNamespace() != "" && apierrors.IsNotFound(err)
}

func TestZ11DefinitionsMadeAnew(t *testing.T) {
	for _, tc := range []struct {
		name            string
		writtenByPeople bool
		kinds           []resource
	}{
		{"Works", false, []resource{works}},
		{"bindings", false, []resource{bindings, clusterBindings}},
		{"policies", true, []resource{policies, clusterPolicies}},
		{"overrides", true, []resource{overrides, clusterOverrides}},
		{"placements", true, []resource{placements}},
		{"clusters", true, []resource{clusters}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			alone(t, gatesOff, everyForm, func(s *scenario) {
				p, nginx := s.spread()
				over := s.override("over", nginx, "by", "override")
				s.Apply(over)
				for _, m := range members {
					s.Expect(nginx).Labelled(m, "by", "override").Work(m, isCondition("Applied", "True"))
				}
				s.Rest()
				before := s.uids(nginx, members...)
				s.party.together(func() { s.definedAnew(tc.writtenByPeople, tc.kinds...) })
				s.Eventually(func() error { return s.lab.joined(s.Context()) })
				s.Expect(nginx).Works(members...).ClaimedBy(p).Binding(isCondition("FullyApplied", "True"))
				s.Settle()
				s.goesOn(nginx, 2, before, members...)
				for _, m := range members {
					s.Expect(nginx).Labelled(m, "by", "override")
				}
				s.Apply(p.To("member1"))
				s.Expect(nginx).In("member1").Works("member1")
			})
		})
	}
}

// What an override gave to a member stays when the definition of overrides goes, and says
// why: nobody took it back. It is in force again when it is applied again, and no more when
// somebody deletes it.
func TestZ11OverridesStayInForceWithoutTheirDefinition(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		over, kind := s.override("over", nginx, "by", "override"), overrides
		if nginx.namespace() == "" {
			kind = clusterOverrides
		}
		s.Apply(over)
		for _, m := range members {
			s.Expect(nginx).Labelled(m, "by", "override").Work(m, isCondition("Applied", "True"))
		}
		s.Rest()
		crd := s.crd(kind)
		s.Untouched(func() { s.undefine(kind) })
		s.Expect(nginx).Binding(isCondition("Rendered", "False", "nobody deleted it"))
		s.explains("nobody deleted it", nginx.resource.plural+"/"+nginx.name())
		s.Untouched(func() { s.install(crd) })
		s.Expect(nginx).Binding(isCondition("Rendered", "False", "nobody deleted it"))
		s.Untouched(func() { s.Eventually(func() error { return s.apply(s.lab.hub, over) }) })
		s.Expect(nginx).Binding(isCondition("Rendered", "True"))
		s.Delete(over)
		for _, m := range members {
			s.Expect(nginx).Labelled(m, "by", "")
		}
	})
}

// pages places a ConfigMap in every member, and returns both, and the uids there.
func (s *scenario) pages() (cm template, p thing, before []string) {
	s.Helper()
	cm, p = s.ConfigMap("pages").set("data.page", "one"), s.everywhere()
	s.Apply(cm, p)
	s.Says(p, carried...)
	return cm, p, s.uids(cm, members...)
}

// carriedStays checks that what a placement brought to the members stays while something is
// done to the kinds of the placements' API, and that the next change reaches them.
func (s *scenario) carriedStays(do func()) {
	s.Helper()
	cm, p, before := s.pages()
	s.party.together(do)
	s.Says(p, carried...)
	s.same(cm, before, members...)
	s.Apply(cm.set("data.page", "two"))
	s.holds(cm, "page", "two", members...)
	s.same(cm, before, members...)
}

// What a placement brought stays where a kind of the placements' API goes, and comes
// back.
func TestZ11PlacementsDefinedAnew(t *testing.T) {
	for _, tc := range []struct {
		writtenByPeople bool
		kind            resource
	}{
		{true, placements},
		{false, pickBindings},
		{false, snapshots},
		{false, policySnapshots},
		{false, memberClusters},
		{false, placedWorks},
	} {
		t.Run(tc.kind.kind, func(t *testing.T) {
			alone(t, gatesOff, []form{pp}, func(s *scenario) {
				s.carriedStays(func() { s.definedAnew(tc.writtenByPeople, tc.kind) })
			})
		})
	}
}

// The definitions of what Sluice makes of placements are deleted one after the other,
// while Sluice runs: none waits for what is gone with another, and members keep all.
func TestZ11PlacementsUndefinedOneByOne(t *testing.T) {
	for name, kinds := range map[string][]resource{
		"Works first":    {placedWorks, policySnapshots, snapshots, pickBindings},
		"policies first": {policySnapshots, snapshots, pickBindings, placedWorks},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, gatesOff, []form{pp}, func(s *scenario) {
				s.carriedStays(func() {
					for _, r := range kinds {
						s.undefine(r)
					}
					for _, r := range kinds {
						s.install(s.crd(r))
					}
				})
			})
		})
	}
}

// kubectl runs against the hub.
func (s *scenario) kubectl(args ...string) (string, error) {
	s.Helper()
	cmd := s.lab.program(s.Context(), "kubectl", "hub", args...)
	if _, err := os.Stat(cmd.Path); err != nil {
		s.Fatalf("the lab has no kubectl: %v", err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// reinstall deletes everything that was installed and installs it again; nobody unjoins.
func (s *scenario) reinstall() {
	s.Helper()
	config := filepath.Join(root(), "config")
	// Of the kinds that the hub does not serve, kubectl complains.
	out, err := s.kubectl("delete", "-R", "-f", config, "--ignore-not-found", "--timeout=60s")
	if err != nil && !strings.Contains(err.Error(), "exit status 1") {
		s.Errorf("delete: %v\n%s", err, out)
	}
	if err := s.within(removal, s.removed); err != nil {
		s.Errorf("after %s: %v\n%s", removal, err, out)
		s.forceAll() // the next test needs it
	}
	for _, part := range []string{"100-namespace", "300-crds", "400-config"} {
		s.Eventually(func() error {
			if out, err := s.kubectl("apply", "--server-side", "--force-conflicts", "-R", "-f", filepath.Join(config, part)); err != nil {
				return fmt.Errorf("apply %s: %w\n%s", part, err, out)
			}
			return nil
		})
	}
	for _, m := range members {
		s.Eventually(func() error {
			if out, err := s.Sluice("join", m, "--cluster-kubeconfig", s.lab.kubeconfig(m)); err != nil {
				return fmt.Errorf("join: %w\n%s", err, out)
			}
			return nil
		})
	}
}

func TestZ11InstalledAnew(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).Works(members...).Work("member2", isCondition("Applied", "True"))
		s.Rest()
		before := s.uids(nginx, members...)
		s.party.together(s.reinstall)
		s.Eventually(func() error { return s.lab.joined(s.Context()) })
		s.same(nginx, before, members...)
		s.Eventually(func() error { return s.apply(s.lab.hub, p.thing) })
		s.Expect(nginx).ClaimedBy(p).Works(members...).Binding(isCondition("FullyApplied", "True"))
		s.goesOn(nginx, 2, before, members...)
	})
}

func TestZ11PlacementsInstalledAnew(t *testing.T) {
	for name, leaving := range map[string]bool{
		"in force":      false,
		"being deleted": true,
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, gatesOff, []form{pp}, func(s *scenario) {
				cm, p, before := s.pages()
				s.party.together(func() {
					if leaving {
						if err := s.lab.hub.on(p.resource, "").Delete(s.Context(), p.name(), metav1.DeleteOptions{}); err != nil {
							s.Fatal(err)
						}
					}
					s.reinstall()
				})
				s.Eventually(func() error { return s.lab.joined(s.Context()) })
				if !leaving {
					s.same(cm, before, members...)
				}
				s.Eventually(func() error { return s.apply(s.lab.hub, p) })
				s.Says(p, carried...)
				if !leaving {
					s.same(cm, before, members...)
				}
				s.Apply(cm.set("data.page", "two"))
				s.holds(cm, "page", "two", members...)
			})
		})
	}
}

// removal is for how long the API server may take to remove all kinds. It removes five
// of them at a time, and looks for a minute whether the objects of one are gone before
// it turns to another.
const removal = 3 * time.Minute

// removed says what there still is of Sluice's own on the hub. A definition that is
// applied while it still is being deleted is gone a moment later.
func (s *scenario) removed() error {
	if _, err := s.lab.hub.on(namespaces, "").Get(s.Context(), systemNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s is still there (%w)", systemNamespace, err)
	}
	kinds, err := s.definedKinds()
	for _, r := range kinds {
		err = errors.Join(err, s.undefined(r))
	}
	return err
}

// definedKinds are those of Sluice's own that have a definition.
func (s *scenario) definedKinds() (kinds []resource, err error) {
	all, err := s.lab.hub.on(crds, "").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, o := range all.Items {
		group := text(o.Object, "spec.group")
		if !slices.ContainsFunc([]string{"karmada.io", "kubernetes-fleet.io", "sluice.dev"}, func(vendor string) bool { return strings.HasSuffix(group, vendor) }) {
			continue
		}
		versions := items(o.Object, "spec.versions")
		stored := slices.IndexFunc(versions, func(v map[string]any) bool { return v["storage"] == true })
		if stored < 0 {
			return nil, fmt.Errorf("%s has no version that is stored: %s", o.GetName(), asJSON(o.Object["spec"]))
		}
		kinds = append(kinds, resource{group: group, version: text(versions[stored], "name"), kind: text(o.Object, "spec.names.kind"), plural: text(o.Object, "spec.names.plural")})
	}
	return kinds, nil
}

// forceAll takes the finalizers from all objects of the kinds that are still defined.
func (s *scenario) forceAll() {
	s.Helper()
	kinds, err := s.definedKinds()
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range kinds {
		s.force(r)
	}
}

// The definitions of policies and of bindings are gone, and then installed again: nothing
// on the hub says any longer what was propagated. explain does not say that nothing was.
func TestZ11ExplainAfterDefinitionsWereLost(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		before, of := s.uids(nginx, members...), nginx.resource.plural+"/"+nginx.name()
		s.undefine(policies)
		s.undefine(bindings)
		const next = "nobody can tell what was propagated, and members keep what they have: install them with 'kubectl apply -f config/300-crds'"
		for _, command := range []string{"explain", "get", "history"} {
			if out, err := s.Sluice(command, of); err == nil || !strings.Contains(out, next) {
				s.Errorf("without the definitions, %s says: %v\n%s", command, err, out)
			}
		}
		s.install(s.crd(policies))
		s.install(s.crd(bindings))
		s.Settle()
		s.explains("In force   cannot tell: ", of)
		s.same(nginx, before, members...)
		s.Apply(p)
		s.Expect(nginx).Works(members...)
		s.Expect(nginx).Binding(isCondition("FullyApplied", "True"))
		s.explains("In force   pp/"+p.name(), of)
		s.goesOn(nginx, 2, before, members...)
	})
}
