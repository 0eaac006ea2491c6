// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is kept of a template's content lies where editors of its namespace may
// write: it is believed no further than its hash goes.

// kept waits for what is kept of the content that is in force for a template.
func (s *scenario) kept(t template) (where resource, o *unstructured.Unstructured) {
	s.Helper()
	where = revisions
	if t.resource == secrets {
		where = secrets
	}
	s.Eventually(func() error {
		b := s.Expect(t).binding()
		if b == nil {
			return fmt.Errorf("%s has no binding", t)
		}
		name, namespace := b.GetAnnotations()["sluice.dev/revision"], b.GetNamespace()
		if t.clusterScoped {
			namespace = "sluice-system"
		}
		var err error
		o, err = s.lab.hub.on(where, namespace).Get(s.Context(), name, metav1.GetOptions{})
		return err
	})
	return where, o
}

// forge makes what is kept for a template anew, with other content.
func (s *scenario) forge(t template, content map[string]any) {
	s.Helper()
	where, o := s.kept(t)
	if where == secrets {
		o.Object["data"] = map[string]any{"content": base64.StdEncoding.EncodeToString([]byte(asJSON(content)))}
	} else {
		o.Object["data"] = content
	}
	on := s.lab.hub.on(where, o.GetNamespace())
	if err := on.Delete(s.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	o.SetUID("")
	o.SetResourceVersion("")
	if _, err := on.Create(s.Context(), o, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// keeps waits until what is kept for a template says this.
func (s *scenario) keeps(t template, n int64) {
	s.Helper()
	s.Eventually(func() error {
		where, o := s.kept(t)
		content, _ := o.Object["data"].(map[string]any)
		if where == secrets {
			raw, err := base64.StdEncoding.DecodeString(text(content, "content"))
			if err != nil {
				return err
			}
			content = nil
			if err := json.Unmarshal(raw, &content); err != nil {
				return err
			}
			if v, err := base64.StdEncoding.DecodeString(contentOf(t.resource, content)); err == nil && string(v) == fmt.Sprint(n) {
				return nil
			}
			return fmt.Errorf("what is kept for %s is not %d", t, n)
		}
		if got := contentOf(t.resource, content); got != fmt.Sprint(n) {
			return fmt.Errorf("what is kept for %s has content %q, want %d", t, got, n)
		}
		return nil
	})
}

var clusterRoleBindings = resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRoleBinding", plural: "clusterrolebindings", clusterScoped: true}

// takeover is what an editor of a namespace would like to have in the members.
func (s *scenario) takeover() thing {
	return newThing(clusterRoleBindings, "", s.unique("takeover")).
		with("roleRef", map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}).
		with("subjects", []any{map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mallory"}})
}

func TestZ6KeptContentOfAnotherKind(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.forge(nginx, s.takeover().body)
		s.Apply(s.override("over", nginx, "by", "override"))
		for _, m := range members {
			s.Expect(nginx).Labelled(m, "by", "override")
		}
		s.keeps(nginx, 1)
		s.Settle()
		s.Expect(s.takeover()).In()
		s.Expect(nginx).At(1, members...)
	})
}

func TestZ6KeptContentOfItsOwnKind(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.forge(nginx, nginx.At(7).body)
		s.Apply(s.override("over", nginx, "by", "override", "member1"))
		s.Expect(nginx).Labelled("member1", "by", "override")
		s.keeps(nginx, 1)
		s.Settle()
		for _, m := range members {
			s.Expect(nginx).had(m, "1")
		}
	})
}

func TestZ6KeptSecret(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		secret := s.Secret("token")
		s.Apply(s.Policy("pp").Selecting(secret).toAll(), secret)
		s.Expect(secret).In(members...).At(1)
		s.forge(secret, s.takeover().body)
		s.Apply(s.override("over", secret, "by", "override", "member1"))
		s.Expect(secret).Labelled("member1", "by", "override")
		s.keeps(secret, 1)
		s.Settle()
		s.Expect(s.takeover()).In()
		s.Expect(secret).At(1, members...)
	})
}

// What the template does not say any more cannot be kept again.
func TestZ6KeptContentLost(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Settle()
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		s.Apply(nginx.At(2))
		s.Expect(nginx).Binding(isCondition("Active", "False", "NoPolicy"))
		s.forge(nginx, nginx.At(7).body)
		s.Apply(s.override("over", nginx, "by", "override", "member1"))
		s.Expect(nginx).Binding(isCondition("Active", "False", "stored content is lost"))
		s.Settle()
		for _, m := range members {
			s.Expect(nginx).had(m, "1")
		}
		s.Apply(p)
		s.Expect(nginx).At(2, members...).Labelled("member1", "by", "override")
	})
}
