// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/config"
	"sluice.dev/pkg/core/propagation"
)

const (
	// membersSource is the label of the sources that tell of members.
	membersSource = "members"
	// membersPerSource is how many members one source tells of.
	membersPerSource = 32
	// formerPrefix begins the name of the source that each member once had.
	formerPrefix = "member-"
	// keyKubeconfig is the key of a member's Secret that holds the kubeconfig with which
	// Sluice writes, and its file's name in the source's pod.
	keyKubeconfig = "kubeconfig"
)

const (
	// KeyReader is the key of a member's Secret that holds a kubeconfig that only reads.
	KeyReader = "reader.kubeconfig"
	// AnnotationReader, on a Cluster, says that its Secret has the key KeyReader.
	AnnotationReader = "sluice.dev/reader"
)

// told is a member that a source tells of, and the key of its Secret that the source's
// pod has.
type told struct{ member, key string }

// share assigns the members to sources. has are the present assignments, as names of
// members by the number of their source. No member is moved, because that would restart
// both sources; a new member goes to the first source that has room. A source that is
// left without members is not in the result.
func share(has map[int][]string, members []string) map[int][]string {
	out, placed := map[int][]string{}, map[string]bool{}
	for _, n := range slices.Sorted(maps.Keys(has)) {
		for _, m := range has[n] {
			if slices.Contains(members, m) && !placed[m] {
				out[n], placed[m] = append(out[n], m), true
			}
		}
	}
	n := 1
	for _, m := range slices.Sorted(slices.Values(members)) {
		if placed[m] {
			continue
		}
		for len(out[n]) >= membersPerSource {
			n++
		}
		out[n], placed[m] = append(out[n], m), true
	}
	return out
}

// members makes sure that each cluster with credentials here is watched by exactly one
// source. A source that an earlier version made for a single member is deleted once
// another source watches that member.
func (s *Sources) members(ctx context.Context, all []unstructured.Unstructured, image, watching string) error {
	clusters, err := s.hub.Clusters(ctx)
	if err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	var joined []string
	keys := map[string]string{} // by member
	for _, c := range clusters {
		if c.DeletionTimestamp == nil && c.Spec.SecretRef != nil && c.Spec.SecretRef.Namespace == propagation.SystemNamespace && c.Spec.SecretRef.Name == c.Name {
			joined = append(joined, c.Name)
			keys[c.Name] = keyOf(c)
		}
	}
	has, mounts, found := map[int][]string{}, map[int][]told{}, map[int]*unstructured.Unstructured{}
	for i := range all {
		if n := numberOf(&all[i]); n > 0 {
			if mounts[n], err = toldOf(&all[i]); err != nil {
				return err
			}
			has[n], found[n] = names(mounts[n]), &all[i]
		}
	}
	want := share(has, joined)
	for _, n := range slices.Sorted(maps.Keys(want)) {
		mount := make([]told, len(want[n]))
		for i, m := range want[n] {
			mount[i] = told{m, keys[m]}
		}
		switch {
		case found[n] == nil && image == "":
			slog.WarnContext(ctx, "changes in members are not watched: there is no ContainerSource "+hubSource+" to take the image from")
		case found[n] == nil:
			err = s.makeMembers(ctx, n, image, watching, mount)
		case !slices.Equal(mounts[n], mount):
			patch := map[string]any{}
			if err = unstructured.SetNestedSlice(patch, volumes(mount), volumesField...); err == nil {
				err = s.patch(ctx, ContainerSources, found[n], patch)
			}
		}
		if err != nil {
			return err
		}
	}
	for n, u := range found {
		if len(want[n]) == 0 {
			if err := s.remove(ctx, u); err != nil {
				return err
			}
		}
	}
	return s.former(ctx, all, has)
}

// former deletes sources that earlier versions made for a single member, once another
// source watches that member.
func (s *Sources) former(ctx context.Context, all []unstructured.Unstructured, has map[int][]string) error {
	for i := range all {
		u := &all[i]
		member := u.GetLabels()[labelCluster]
		if member == "" || u.GetName() != formerPrefix+member {
			continue
		}
		told := slices.ContainsFunc(slices.Collect(maps.Values(has)), func(names []string) bool { return slices.Contains(names, member) })
		if !told {
			continue
		}
		if err := s.remove(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sources) remove(ctx context.Context, u *unstructured.Unstructured) error {
	uid, version := u.GetUID(), u.GetResourceVersion()
	err := s.client.Resource(ContainerSources).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete ContainerSource %s: %w", u.GetName(), err)
	}
	return nil
}

// makeMembers makes the source of that number.
func (s *Sources) makeMembers(ctx context.Context, n int, image, watching string, members []told) error {
	source, err := config.MembersSource(n, image, watching)
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&source)
	if err != nil {
		return fmt.Errorf("encode ContainerSource %s: %w", source.Name, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(sourcesv1.SchemeGroupVersion.WithKind("ContainerSource"))
	for _, field := range [][]string{{"status"}, {"metadata", "creationTimestamp"}, {"spec", "template", "metadata", "creationTimestamp"}} {
		unstructured.RemoveNestedField(u.Object, field...)
	}
	if err := unstructured.SetNestedSlice(u.Object, volumes(members), volumesField...); err != nil {
		return fmt.Errorf("encode ContainerSource %s: %w", source.Name, err)
	}
	_, err = s.client.Resource(ContainerSources).Namespace(propagation.SystemNamespace).Create(ctx, u, metav1.CreateOptions{FieldManager: propagation.FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make ContainerSource %s: %w", source.Name, err)
	}
	return nil
}

// volumesField is where a source's pod has the kubeconfigs of its members.
var volumesField = []string{"spec", "template", "spec", "volumes"}

// keyOf is the key of the cluster's Secret with which its source reads.
func keyOf(c *clusterv1alpha1.Cluster) string {
	if c.Annotations[AnnotationReader] != "" {
		return KeyReader
	}
	return keyKubeconfig
}

func names(all []told) []string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = t.member
	}
	return out
}

// volumes returns the kubeconfigs of the members as a volume, each in a folder with its
// member's name, and nothing else of their Secrets. A missing kubeconfig does not keep
// the pod from starting.
func volumes(members []told) []any {
	sources := make([]any, len(members))
	for i, m := range members {
		sources[i] = map[string]any{"secret": map[string]any{
			"name": m.member, "optional": true, "items": []any{map[string]any{"key": m.key, "path": m.member + "/" + keyKubeconfig}},
		}}
	}
	return []any{map[string]any{"name": membersSource, "projected": map[string]any{"sources": sources}}}
}

// toldOf are the members that a source tells of.
func toldOf(u *unstructured.Unstructured) ([]told, error) {
	all, _, err := unstructured.NestedSlice(u.Object, volumesField...)
	if err != nil {
		return nil, fmt.Errorf("decode ContainerSource %s: %w", u.GetName(), err)
	}
	var members []told
	for _, v := range all {
		volume, _ := v.(map[string]any)
		sources, _, _ := unstructured.NestedSlice(volume, "projected", "sources") // none: of no member
		for _, source := range sources {
			projected, _ := source.(map[string]any)
			name, _, _ := unstructured.NestedString(projected, "secret", "name")
			if name == "" {
				continue
			}
			items, _, _ := unstructured.NestedSlice(projected, "secret", "items")
			key := "" // of another number of keys: it is written anew
			if len(items) == 1 {
				item, _ := items[0].(map[string]any)
				key, _ = item["key"].(string)
			}
			members = append(members, told{name, key})
		}
	}
	return members, nil
}

// numberOf is the number of a source that tells of members; 0: it is none of those.
func numberOf(u *unstructured.Unstructured) int {
	text, found := strings.CutPrefix(u.GetName(), membersSource+"-")
	n, err := strconv.Atoi(text)
	if !found || err != nil || n < 1 || u.GetLabels()[labelSource] != membersSource {
		return 0
	}
	return n
}
