// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var placementWorks = resource{group: "placement.kubernetes-fleet.io", version: "v1", kind: "Work", plural: "works"}

// nowhereToRead fails where one of the words, or what a Secret makes of it, stands in
// an object that is no Secret, in an event of this scenario, or in a log.
func (s *scenario) nowhereToRead(words ...string) {
	s.Helper()
	check := func(what, text string) {
		for _, w := range words {
			if strings.Contains(text, w) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(w))) {
				s.Errorf("%s holds what the Secret holds: %s", what, w)
			}
		}
	}
	for _, r := range []resource{works, placementWorks, bindings, k8sEvents, revisions} {
		all, err := s.lab.hub.client.Resource(r.gvr()).List(s.Context(), metav1.ListOptions{})
		if err != nil {
			s.Fatal(err)
		}
		for _, o := range all.Items {
			check(fmt.Sprintf("%s %s/%s", r.kind, o.GetNamespace(), o.GetName()), asJSON(o.Object))
		}
	}
	logs, err := filepath.Glob(filepath.Join(s.lab.dir, "log", "*.log"))
	if err != nil || len(logs) == 0 {
		s.Fatalf("no logs in %s/log: %v", s.lab.dir, err)
	}
	for _, log := range logs {
		raw, err := os.ReadFile(log)
		if err != nil {
			s.Fatal(err)
		}
		check(log, string(raw))
	}
}

// secretHolds waits until the Secret in the members has the word under the key.
func (s *scenario) secretHolds(secret template, word string, in ...string) {
	s.Helper()
	for _, m := range in {
		s.Expect(secret).Member(m, func(o map[string]any) error {
			if got, _ := base64.StdEncoding.DecodeString(text(o, "data.word")); string(got) != word {
				return fmt.Errorf("it holds %q, want %q", got, word)
			}
			return nil
		})
	}
}

// beside is what is kept of the Secret beside its Work for the member; nil: nothing.
func (s *scenario) beside(secret template, member string) *unstructured.Unstructured {
	s.Helper()
	w := s.Expect(secret).work(member)
	if w == nil {
		return nil
	}
	o, err := s.lab.hub.on(secrets, w.GetNamespace()).Get(s.Context(), w.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return o
}

func TestZ39SecretsAreInNoWork(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		first, second, local := s.unique("first-word"), s.unique("second-word"), s.unique("local-word")
		secret := s.Secret("token").set("stringData.word", first).set("metadata.annotations", map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": first,
		})
		s.Apply(s.Policy("pp").Selecting(secret).toAll(), secret)
		s.secretHolds(secret, first, members...)
		s.nowhereToRead(first)
		before := s.uids(secret, members...)

		s.Apply(secret.set("stringData.word", second))
		s.secretHolds(secret, second, members...)
		s.Apply(s.plain("over", secret, "replace", "/data/word", base64.StdEncoding.EncodeToString([]byte(local)), "member1"))
		s.secretHolds(secret, local, "member1")
		s.secretHolds(secret, second, "member2")
		s.nowhereToRead(first, second, local)
		s.same(secret, before, members...)
	})
}

func TestZ39WhatIsKeptBesideAWorkIsPutBack(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		word := s.unique("word")
		secret := s.Secret("token").set("stringData.word", word)
		s.Apply(s.Policy("pp").Selecting(secret).toAll(), secret)
		s.secretHolds(secret, word, members...)
		s.Expect(secret).Works(members...) // what is watched of the hub may be behind what is of the members
		before, kept := s.uids(secret, members...), s.beside(secret, "member1")
		if kept == nil {
			s.Fatal("nothing is kept beside the Work")
		}
		on := s.lab.hub.on(secrets, kept.GetNamespace())
		if err := on.Delete(s.Context(), kept.GetName(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Eventually(func() error {
			if o := s.beside(secret, "member1"); o == nil || o.GetUID() == kept.GetUID() {
				return fmt.Errorf("what was kept beside the Work is not back")
			}
			return nil
		})

		// With its Work gone, too, it is that of the new one.
		old := s.Expect(secret).work("member2")
		if err := s.lab.hub.on(works, old.GetNamespace()).Delete(s.Context(), old.GetName(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Eventually(func() error {
			w := s.Expect(secret).work("member2")
			if w == nil || w.GetUID() == old.GetUID() {
				return fmt.Errorf("the Work is not back")
			}
			if o := s.beside(secret, "member2"); o == nil || len(o.GetOwnerReferences()) != 1 || o.GetOwnerReferences()[0].UID != w.GetUID() {
				return fmt.Errorf("what is kept is not the new Work's")
			}
			return nil
		})
		s.Expect(secret).Work("member2", isCondition("Applied", "True", "AppliedSuccessful"))
		s.same(secret, before, members...)
		s.secretHolds(secret, word, members...)
		s.nowhereToRead(word)
	})
}

func TestZ39ARefusalQuotesNothing(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		word := s.unique("word")
		secret := s.Secret("token").set("stringData.word", word)
		s.Apply(s.Policy("pp").Selecting(secret).toAll(), secret)
		s.secretHolds(secret, word, members...)
		// Base64 that is none is quoted by API servers.
		bad := "!" + s.unique("quoted")
		s.Apply(s.plain("over", secret, "replace", "/data/word", bad, "member1"))
		s.Expect(secret).Work("member1", isCondition("Applied", "False"))
		s.nowhereToRead(word, bad)
		s.secretHolds(secret, word, members...)
	})
}

func TestZ39PlacementsSecretsAreInNoWork(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		first, second := s.unique("first-word"), s.unique("second-word")
		secret := s.Secret("token").set("stringData.word", first)
		p := s.everywhere()
		s.Apply(secret, p)
		s.secretHolds(secret, first, members...)
		s.nowhereToRead(first)
		s.Apply(secret.set("stringData.word", second))
		s.secretHolds(secret, second, members...)
		s.nowhereToRead(first, second)
	})
}
