// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pending leaves nginx in member1, with a change of its Lazy policy to member2
// that waits.
func (s *scenario) pending() template {
	s.Helper()
	p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
	s.Apply(p, nginx)
	s.Expect(nginx).In("member1")
	s.Apply(p.To("member2"))
	return nginx
}

// noChange is that what is done activates nothing, and that a change then does.
func noChange(t *testing.T, forms []form, do func(s *scenario, nginx template)) {
	t.Helper()
	each(t, gatesOff, forms, func(s *scenario) {
		nginx := s.pending()
		s.Unchanged(func() { do(s, nginx) })
		s.Expect(nginx).In("member1")
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

// isChange is that what is done activates.
func isChange(t *testing.T, forms []form, do func(s *scenario, nginx template)) {
	t.Helper()
	each(t, gatesOff, forms, func(s *scenario) {
		nginx := s.pending()
		do(s, nginx)
		s.Expect(nginx).In("member2")
	})
}

func TestL7StatusOnly(t *testing.T) {
	noChange(t, inNamespaces, func(s *scenario, nginx template) {
		s.PatchAs("somebody", nginx, "{\"status\":{\"conditions\":[{\"type\":\"Odd\",\"status\":\"True\"}]}}", "status")
	})
}

// Somebody else says what is already so: only managedFields tell of him.
func TestL8ManagedFieldsOnly(t *testing.T) {
	noChange(t, everyForm, func(s *scenario, nginx template) {
		before := s.Live(nginx)
		_, err := s.lab.hub.on(nginx.resource, nginx.namespace()).Apply(s.Context(), nginx.name(), nginx.object(),
			metav1.ApplyOptions{FieldManager: "another", Force: true})
		if err != nil {
			s.Fatal(err)
		}
		if s.Live(nginx).GetResourceVersion() == before.GetResourceVersion() {
			s.Error("the write changed nothing at all")
		}
	})
}

// What changes is the resourceVersion, and with it nothing that anybody owns.
func TestL9ResourceVersionOnly(t *testing.T) {
	noChange(t, everyForm, func(s *scenario, nginx template) {
		before := s.Live(nginx)
		s.Patch(nginx, "{\"metadata\":{\"managedFields\":[{}]}}")
		if s.Live(nginx).GetResourceVersion() == before.GetResourceVersion() {
			s.Error("the write changed nothing at all")
		}
	})
}

// A Deployment's generation grows with its annotations.
func TestL10GenerationOnly(t *testing.T) {
	noChange(t, inNamespaces, func(s *scenario, nginx template) {
		before := s.Live(nginx)
		s.Patch(nginx, "{\"metadata\":{\"annotations\":{\"policy.karmada.io/x\":\"1\"}}}")
		if s.Live(nginx).GetGeneration() == before.GetGeneration() {
			s.Error("the generation did not grow")
		}
	})
}

func TestL11SystemLabel(t *testing.T) {
	noChange(t, everyForm, func(s *scenario, nginx template) {
		for _, v := range []string{"\"1\"", "\"2\"", "null"} {
			s.Patch(nginx, "{\"metadata\":{\"labels\":{\"policy.karmada.io/applied\":"+v+",\"sluice.dev/x\":"+v+"}}}")
		}
	})
}

func TestL12SystemAnnotation(t *testing.T) {
	noChange(t, everyForm, func(s *scenario, nginx template) {
		for _, v := range []string{"\"1\"", "\"2\"", "null"} {
			s.Patch(nginx, "{\"metadata\":{\"annotations\":{\"policy.karmada.io/applied\":"+v+",\"sluice.dev/x\":"+v+"}}}")
		}
	})
}

func TestL13AnyOtherLabelOrAnnotation(t *testing.T) {
	t.Parallel()
	t.Run("label", func(t *testing.T) {
		isChange(t, everyForm, func(s *scenario, nginx template) {
			s.Patch(nginx, "{\"metadata\":{\"labels\":{\"refresh-time\":\"1700000000\"}}}")
			s.Expect(nginx).Labelled("member2", "refresh-time", "1700000000")
		})
	})
	t.Run("annotation", func(t *testing.T) {
		isChange(t, everyForm, func(s *scenario, nginx template) {
			s.Patch(nginx, "{\"metadata\":{\"annotations\":{\"example.org/note\":\"x\"}}}")
		})
	})
	t.Run("removed", func(t *testing.T) {
		isChange(t, inNamespaces, func(s *scenario, nginx template) {
			s.Patch(nginx, "{\"metadata\":{\"labels\":{\"app\":null}}}")
		})
	})
}

func TestL14Spec(t *testing.T) {
	isChange(t, everyForm, func(s *scenario, nginx template) {
		s.Apply(nginx.At(7))
		s.Expect(nginx).At(7, "member2")
	})
}

// A plug-in that scales counts as the user whose plug-in it is.
func TestL15PlugIn(t *testing.T) {
	isChange(t, inNamespaces, func(s *scenario, nginx template) {
		s.PatchAs("cron-hpa", nginx, "{\"spec\":{\"replicas\":3}}", "scale")
	})
}

func TestL16Mixed(t *testing.T) {
	isChange(t, everyForm, func(s *scenario, nginx template) {
		s.Patch(nginx, "{\"metadata\":{\"labels\":{\"policy.karmada.io/applied\":\"1\",\"team\":\"blue\"}}}")
	})
}

func TestL17SkipAutoPropagation(t *testing.T) {
	isChange(t, everyForm, func(s *scenario, nginx template) {
		s.Patch(nginx, "{\"metadata\":{\"labels\":{\"namespace.karmada.io/skip-auto-propagation\":\"true\"}}}")
	})
}

func TestL18FinalizersAndOwners(t *testing.T) {
	t.Parallel()
	t.Run("finalizers", func(t *testing.T) {
		isChange(t, everyForm, func(s *scenario, nginx template) {
			s.Cleanup(func() { s.unfinalize("hub", nginx) })
			s.Patch(nginx, "{\"metadata\":{\"finalizers\":[\"example.org/mine\"]}}")
			s.Expect(nginx).In("member2")
			if f := s.Live(nginx).GetFinalizers(); len(f) != 1 {
				s.Errorf("finalizers are %v, want the user's own alone", f)
			}
			if f := s.LiveIn("member2", nginx).GetFinalizers(); len(f) != 0 {
				s.Errorf("the member's object has finalizers %v: nobody there would take them off", f)
			}
		})
	})
	t.Run("ownerReferences", func(t *testing.T) {
		isChange(t, inNamespaces, func(s *scenario, nginx template) {
			owner := s.ConfigMap("owner")
			s.Apply(owner)
			s.Patch(nginx, fmt.Sprintf("{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"%s\"}]}}", s.Live(owner).GetUID()))
			s.Expect(nginx).In("member2")
			if o := s.Live(nginx).GetOwnerReferences(); len(o) != 1 {
				s.Errorf("owner references are %v, want the user's own alone", o)
			}
			if o := s.LiveIn("member2", nginx).GetOwnerReferences(); len(o) != 0 {
				s.Errorf("the member's object has owners %v, who are not there", o)
			}
		})
	})
}

// unfinalize removes an object's finalizers in a cluster, whoever else is writing it.
func (s *scenario) unfinalize(cluster string, a applied) {
	o := a.itself()
	_, err := s.lab.clusters[cluster].on(o.resource, o.namespace()).Patch(s.background(), o.name(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Errorf("remove the finalizers of %s: %v", o, err)
	}
}

func TestL19NoOpApply(t *testing.T) {
	noChange(t, everyForm, func(s *scenario, nginx template) {
		before := s.Live(nginx)
		s.Apply(nginx)
		if s.Live(nginx).GetResourceVersion() != before.GetResourceVersion() {
			s.Error("the write was no no-op")
		}
	})
}
