// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// newRevision is frozen content of the binding's template.
func newRevision(b *propagation.Binding, number int64) *propagation.Revision {
	content := map[string]any{
		"apiVersion": b.Spec.Resource.APIVersion, "kind": b.Spec.Resource.Kind,
		"metadata": map[string]any{"name": b.Spec.Resource.Name, "namespace": b.Spec.Resource.Namespace},
		"data":     map[string]any{"number": number, "nothing": nil, "html": "<&>"},
	}
	hash := propagation.HashJSON(content)
	namespace := b.Key.Namespace
	if namespace == "" {
		namespace = propagation.SystemNamespace
	}
	return &propagation.Revision{
		Namespace: namespace, Name: propagation.RevisionName(b.Key, hash), Binding: b.Key, Hash: hash, Number: number, Content: content,
	}
}

// newSecretBinding is the binding of a Secret.
func (l *lab) newSecretBinding() *propagation.Binding {
	s := l.somebodyMakes(secrets, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: "+l.namespace+"}}")
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: l.namespace, Name: "s"}
	b := &propagation.Binding{Key: propagation.BindingOf(key)}
	b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = "v1", "Secret", l.namespace, "s"
	b.Spec.Resource.UID = s.GetUID()
	return b
}

func TestRevisions(t *testing.T) {
	for sentence, tc := range map[string]struct {
		binding func(*lab) *propagation.Binding
		kept    schema.GroupVersionResource
		watched bool
	}{
		"of a namespaced template":          {func(l *lab) *propagation.Binding { return l.newBinding(propagation.Namespaced) }, revisions, false},
		"of a cluster template":             {func(l *lab) *propagation.Binding { return l.newBinding(propagation.Cluster) }, revisions, false},
		"of a Secret, in a Secret":          {(*lab).newSecretBinding, secrets, false},
		"of a namespaced template, watched": {func(l *lab) *propagation.Binding { return l.newBinding(propagation.Namespaced) }, revisions, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLab(t)
			must(t, l.EnsureNamespace(l.ctx, propagation.SystemNamespace))
			if tc.watched {
				l.watch(revisions.GroupVersion().WithKind("ControllerRevision"))
			}
			b, err := l.CommitBinding(l.ctx, nil, tc.binding(l))
			must(t, err)
			t.Cleanup(func() { _ = l.DeleteBinding(t.Context(), b) })
			one, two := newRevision(b, 1), newRevision(b, 2)
			for _, r := range []*propagation.Revision{one, two, one} {
				must(t, l.CreateRevision(l.ctx, b, r))
			}
			l.requests.take()
			got, err := l.Revision(l.ctx, b, one.Name)
			must(t, err)
			if got.Hash != one.Hash || got.Number != 1 || propagation.HashJSON(got.Content) != one.Hash || got.Namespace != one.Namespace {
				t.Errorf("revision: %+v, want %+v", got, one)
			}
			all, err := l.Revisions(l.ctx, b)
			must(t, err)
			if len(all) != 2 || all[0].Number+all[1].Number != 3 {
				t.Errorf("revisions: %+v", all)
			}
			if n := len(l.requests.take()); tc.watched != (n == 0) {
				t.Errorf("%d requests", n)
			}
			if owners := l.live(tc.kept, one.Namespace, one.Name).GetOwnerReferences(); len(owners) != 1 || owners[0].UID != b.UID {
				t.Errorf("owners: %+v, want the binding", owners)
			}
			another := &propagation.Binding{Key: propagation.BindingKey{Namespace: b.Key.Namespace, Name: "another"}, Spec: b.Spec}
			if _, err := l.Revision(l.ctx, another, one.Name); !errors.Is(err, outcome.ErrGone) {
				t.Errorf("another binding's: %v, want gone", err)
			}
			must(t, l.DeleteRevision(l.ctx, b, one.Name))
			must(t, l.DeleteRevision(l.ctx, b, one.Name))
			if _, err := l.Revision(l.ctx, b, one.Name); !errors.Is(err, outcome.ErrGone) {
				t.Errorf("deleted: %v, want gone", err)
			}
			l.testTemplatesWithout(tc.kept, b)
		})
	}
}

// testTemplatesWithout checks that frozen content is no template.
func (l *lab) testTemplatesWithout(gvr schema.GroupVersionResource, b *propagation.Binding) {
	l.t.Helper()
	kind := map[string]string{"secrets": "Secret", "controllerrevisions": "ControllerRevision"}[gvr.Resource]
	all, _, err := l.ListTemplates(l.ctx, gvr.GroupVersion().WithKind(kind), b.Key.Namespace, 0, "")
	must(l.t, err)
	for _, t := range all {
		if t.Labels[propagation.LabelBinding] != "" {
			l.t.Errorf("%s is a template", t.Key)
		}
	}
}

// TestRevisionOfAFormerBinding is taken over, so that it is not collected with
// the binding that left it behind.
func TestRevisionOfAFormerBinding(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %t", watched), func(t *testing.T) {
			l := newLab(t)
			if watched {
				l.watch(revisions.GroupVersion().WithKind("ControllerRevision"))
			}
			former, err := l.CommitBinding(l.ctx, nil, l.newBinding(propagation.Namespaced))
			must(t, err)
			r := newRevision(former, 1)
			must(t, l.CreateRevision(l.ctx, former, r))
			// As long as a finalizer holds it, no collector takes it away.
			l.somebodyPatches(revisions, r.Namespace, r.Name, `{"metadata":{"finalizers":["example.com/wait"]}}`)
			defer l.somebodyPatches(revisions, r.Namespace, r.Name, `{"metadata":{"finalizers":null}}`)
			next := *former
			next.UID = "99999999-2222-3333-4444-555555555555"
			l.waitFor("the revision to be taken over", func() bool {
				err := l.CreateRevision(l.ctx, &next, r)
				if err != nil && !outcome.IsConflict(err) {
					t.Fatal(err)
				}
				return err == nil
			})
			want := []string{"99999999-2222-3333-4444-555555555555"}
			var got []string
			for _, o := range l.live(revisions, r.Namespace, r.Name).GetOwnerReferences() {
				got = append(got, string(o.UID))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

// TestZ6KeptContentMadeAnew by an editor of the namespace is not there for
// anybody, and is replaced when it is to be kept again.
func TestZ6KeptContentMadeAnew(t *testing.T) {
	for sentence, tc := range map[string]struct {
		binding func(*lab) *propagation.Binding
		kept    schema.GroupVersionResource
		watched bool
	}{
		"of a namespaced template":          {func(l *lab) *propagation.Binding { return l.newBinding(propagation.Namespaced) }, revisions, false},
		"of a namespaced template, watched": {func(l *lab) *propagation.Binding { return l.newBinding(propagation.Namespaced) }, revisions, true},
		"of a Secret":                       {(*lab).newSecretBinding, secrets, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLab(t)
			must(t, l.EnsureNamespace(l.ctx, propagation.SystemNamespace))
			if tc.watched {
				l.watch(revisions.GroupVersion().WithKind("ControllerRevision"))
			}
			b, err := l.CommitBinding(l.ctx, nil, tc.binding(l))
			must(t, err)
			t.Cleanup(func() { _ = l.DeleteBinding(t.Context(), b) })
			r := newRevision(b, 1)
			must(t, l.CreateRevision(l.ctx, b, r))
			l.somebodyForges(tc.kept, r.Namespace, r.Name, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"forged","namespace":"kube-system"}}`)
			l.waitFor("the forged one to be told of", func() bool {
				_, err := l.Revision(l.ctx, b, r.Name)
				return errors.Is(err, outcome.ErrGone)
			})
			l.waitFor("the forged one to be replaced", func() bool {
				err := l.CreateRevision(l.ctx, b, r)
				if err != nil && !outcome.IsConflict(err) {
					t.Fatal(err)
				}
				return err == nil
			})
			got, err := l.Revision(l.ctx, b, r.Name)
			must(t, err)
			if diff := cmp.Diff(r.Hash, propagation.HashContent(got.Content)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

// somebodyForges makes kept content anew with another content, and all else as
// it was.
func (l *lab) somebodyForges(gvr schema.GroupVersionResource, namespace, name, content string) {
	l.t.Helper()
	o := l.live(gvr, namespace, name)
	kept := l.other.Resource(gvr).Namespace(namespace)
	must(l.t, kept.Delete(l.ctx, name, metav1.DeleteOptions{}))
	o.SetUID("")
	o.SetResourceVersion("")
	if gvr == secrets {
		o.Object["data"] = map[string]any{"content": base64.StdEncoding.EncodeToString([]byte(content))}
	} else {
		var data map[string]any
		must(l.t, json.Unmarshal([]byte(content), &data))
		o.Object["data"] = data
	}
	_, err := kept.Create(l.ctx, o, metav1.CreateOptions{})
	must(l.t, err)
}
