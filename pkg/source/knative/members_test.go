// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"
)

func TestShare(t *testing.T) {
	many := func(from, to int) (names []string) {
		for i := from; i <= to; i++ {
			names = append(names, fmt.Sprintf("m%03d", i))
		}
		return names
	}
	for sentence, tc := range map[string]struct {
		has     map[int][]string
		members []string
		want    map[int][]string
	}{
		"the first members have the first source":     {nil, many(1, 3), map[int][]string{1: many(1, 3)}},
		"the thirty-third has another":                {nil, many(1, 33), map[int][]string{1: many(1, 32), 2: many(33, 33)}},
		"who joins comes behind those who are there":  {map[int][]string{1: {"m2", "m3"}}, []string{"m1", "m2", "m3"}, map[int][]string{1: {"m2", "m3", "m1"}}},
		"who leaves makes room, and moves nobody":     {map[int][]string{1: many(1, 32), 2: {"n"}}, append(many(2, 32), "n", "o"), map[int][]string{1: append(many(2, 32), "o"), 2: {"n"}}},
		"who is twice there stays where he was first": {map[int][]string{1: {"m1"}, 2: {"m1", "m2"}}, []string{"m1", "m2"}, map[int][]string{1: {"m1"}, 2: {"m2"}}},
		"without members there is no source":          {map[int][]string{1: {"m1"}}, nil, map[int][]string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if d := cmp.Diff(tc.want, share(tc.has, tc.members)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// Whoever joins and leaves: each member has one source, none has too many, and nobody
// who stays moves.
func TestShareProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		has := map[int][]string{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			members := rapid.SliceOfNDistinct(rapid.IntRange(0, 120), 0, 100, rapid.ID[int]).Draw(t, "members")
			names := make([]string, len(members))
			for i, m := range members {
				names[i] = fmt.Sprint(m)
			}
			next, at := share(has, names), map[string]int{}
			for n, told := range next {
				if len(told) == 0 || len(told) > membersPerSource {
					t.Fatalf("source %d tells of %d members", n, len(told))
				}
				for _, m := range told {
					if at[m] != 0 {
						t.Fatalf("%s has two sources", m)
					}
					at[m] = n
				}
			}
			if got := slices.Sorted(maps.Keys(at)); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
				t.Fatalf("told of %v, want %v", got, names)
			}
			for n, told := range has {
				for _, m := range told {
					if at[m] != 0 && at[m] != n {
						t.Fatalf("%s moved from %d to %d", m, n, at[m])
					}
				}
			}
			has = next
		}
	})
}

// noting notes what is written, and lets it pass.
func noting(wrote *[]string) clienttesting.ReactionFunc {
	return func(a clienttesting.Action) (bool, runtime.Object, error) {
		what := a.GetVerb()
		if named, ok := a.(interface{ GetName() string }); ok && named.GetName() != "" {
			what += " " + named.GetName()
		}
		*wrote = append(*wrote, what)
		return false, nil, nil
	}
}

// TestZ40SourcesFollowTheMembers: they share sources, read with the least that there is,
// and the one that each once had goes when another tells of it.
func TestZ40SourcesFollowTheMembers(t *testing.T) {
	s, spec, _ := sources(t)
	members, wrote := []string{"m1", "m2"}, []string(nil)
	s.hub = catalog{&members, nil}
	for _, verb := range []string{"create", "patch", "delete"} {
		s.client.(*dynamicfake.FakeDynamicClient).PrependReactor(verb, "containersources", noting(&wrote))
	}
	kinds := []schema.GroupVersionKind{deployments}
	follow := func(want ...string) {
		t.Helper()
		wrote = nil
		if _, _, err := s.Follow(t.Context(), kinds, false); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, wrote); d != "" {
			t.Errorf("wrote (-want +got)\n%s", d)
		}
	}
	has := func(parts ...string) {
		t.Helper()
		raw, err := json.Marshal(spec(ContainerSources, "members-1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(raw), part) {
				t.Errorf("the source lacks %q: %s", part, raw)
			}
		}
	}
	follow("create", "patch member-m1")
	has(`"path":"m1/kubeconfig"`, `"path":"m2/kubeconfig"`, "example.com/source@new", "deployments", `"optional":true`, `\"hub\":\"this-hub\"`)
	follow("delete member-m1")
	follow()
	members = append(members, "m3")
	follow("patch members-1")
	has(`"path":"m3/kubeconfig"`)
	follow()

	// Z40: it has a credential that cannot write as soon as there is one, and then no
	// other of that member.
	s.hub = catalog{&members, []string{"m2"}}
	follow("patch members-1")
	want := []any{
		map[string]any{"secret": map[string]any{"name": "m1", "optional": true, "items": []any{map[string]any{"key": "kubeconfig", "path": "m1/kubeconfig"}}}},
		map[string]any{"secret": map[string]any{"name": "m2", "optional": true, "items": []any{map[string]any{"key": "reader.kubeconfig", "path": "m2/kubeconfig"}}}},
		map[string]any{"secret": map[string]any{"name": "m3", "optional": true, "items": []any{map[string]any{"key": "kubeconfig", "path": "m3/kubeconfig"}}}},
	}
	mounted, _, err := unstructured.NestedSlice(spec(ContainerSources, "members-1"), "template", "spec", "volumes")
	if d := cmp.Diff([]any{map[string]any{"name": "members", "projected": map[string]any{"sources": want}}}, mounted); d != "" || err != nil {
		t.Errorf("the source's pod has (-want +got)\n%s%v", d, err)
	}
	follow()
	members = nil
	follow("delete members-1")
	list, err := s.client.Resource(ContainerSources).Namespace("sluice-system").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != hubSource {
		t.Errorf("left %v, %v", list.Items, err)
	}
}
