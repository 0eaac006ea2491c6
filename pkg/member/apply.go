// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// AnnotationWork on a member's object is "<namespace>/<name>" of its Work on the
// hub, for people.
const AnnotationWork = "sluice.dev/work-key"

// AnnotationManifest on a member's object is the hash of the manifest that was
// applied last: what the member has can be told from the object itself, also
// where a crash, or patience, kept the Work from saying so.
const AnnotationManifest = "sluice.dev/manifest-hash"

// Options of Apply.
type Options struct {
	// Overwrite takes over an object that is not ours.
	Overwrite bool
}

// Applied is what became of Apply.
type Applied struct {
	// Changed tells whether the member's object was written and is another now.
	Changed bool
	// Object is the member's, as Observed has it.
	Object map[string]any
	// State is to be kept in the Work's status.
	State workv1alpha1.AppliedState
}

// Apply brings the member's object up to the manifest of that ordinal of the
// Work, if there is anything to bring up.
func (c *Client) Apply(ctx context.Context, w *propagation.Work, ordinal int, manifest map[string]any, opt Options) (Applied, error) {
	ref := refOf(manifest)
	if ref.APIVersion == "" || ref.Kind == "" || ref.Name == "" {
		return Applied{}, &Refused{c.name, "a manifest needs apiVersion, kind and metadata.name"}
	}
	live, err := c.observe(ctx, ref, w.Status.Applied == nil)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return Applied{}, err
	}
	if live != nil && !live.Ours(w.Key.Name) && !opt.Overwrite && !takeable(live) {
		return Applied{}, &NotOurs{c.name, ref, live.Work}
	}
	if ordinal == 0 && !Needed(w, manifest, live) {
		return Applied{Object: live.Object, State: *w.Status.Applied}, nil
	}
	if state, ok := Unrecorded(w, manifest, live); ok {
		return Applied{Object: live.Object, State: state}, nil
	}
	desired := dress(w, manifest)
	if leave, err := c.leavesReplicas(ctx, ref, desired, live); err != nil {
		return Applied{}, err
	} else if leave {
		leaveReplicas(desired, live)
	}
	now, err := c.write(ctx, ref, desired)
	if err != nil {
		return Applied{}, err
	}
	return Applied{
		Changed: live == nil || live.Version != now.Version,
		Object:  now.Object,
		State:   workv1alpha1.AppliedState{ManifestHash: propagation.HashJSON(manifest), FieldsHash: now.FieldsHash, UID: now.UID},
	}, nil
}

// takeable tells whether the object is a namespace that we made ourselves before
// its template was propagated.
func takeable(o *Observed) bool {
	obj := unstructured.Unstructured{Object: o.Object}
	return obj.GetKind() == "Namespace" && o.Work == "" && obj.GetLabels()[LabelCreated] == "true"
}

// Needed tells whether the manifest has to be applied: it is another than was
// applied last, or the object is no more what was applied (nil: it is gone).
// Only the state of one manifest is kept: a Work of several is always applied,
// and the member's API server tells whether anything changes.
func Needed(w *propagation.Work, manifest map[string]any, o *Observed) bool {
	return o == nil || len(w.Spec.Workload.Manifests) > 1 || !recorded(w, propagation.HashJSON(manifest)) || Drifted(w, manifest, o)
}

// Unrecorded tells whether the object is what the manifest asks for although the
// Work does not say so yet, and what it has to say. The mark alone does not
// prove it: somebody may have written a field of ours since.
func Unrecorded(w *propagation.Work, manifest map[string]any, o *Observed) (workv1alpha1.AppliedState, bool) {
	if o == nil {
		return workv1alpha1.AppliedState{}, false
	}
	hash := propagation.HashJSON(manifest)
	if recorded(w, hash) || !marked(w, hash, o) || !intact(manifest, o) {
		return workv1alpha1.AppliedState{}, false
	}
	return workv1alpha1.AppliedState{ManifestHash: hash, FieldsHash: o.FieldsHash, UID: o.UID}, true
}

// Drifted tells whether the object is not, or no more, what was applied last: it
// is not marked as the Work's, it was made anew, somebody else wrote a field of
// ours, or another manifest was applied since, which the Work does not say. As
// long as nothing was applied, its fields say nothing.
func Drifted(w *propagation.Work, manifest map[string]any, o *Observed) bool {
	if !o.Ours(w.Key.Name) {
		return true
	}
	a, hash := w.Status.Applied, propagation.HashJSON(manifest)
	if !recorded(w, hash) && marked(w, hash, o) {
		return !o.Partial && !intact(manifest, o)
	}
	return a != nil && (o.UID != a.UID || o.FieldsHash != a.FieldsHash || alone(w) && o.Manifest != a.ManifestHash)
}

// alone tells whether the Work has one manifest: of several, only the first is
// known in its status.
func alone(w *propagation.Work) bool { return len(w.Spec.Workload.Manifests) == 1 }

// recorded tells whether the Work says that the manifest of that hash was
// applied.
func recorded(w *propagation.Work, hash string) bool {
	return w.Status.Applied != nil && w.Status.Applied.ManifestHash == hash
}

// marked tells whether the manifest of that hash was applied to the object, which
// is then the object's own word. Of a Work of several manifests nobody can say so.
func marked(w *propagation.Work, hash string, o *Observed) bool {
	return alone(w) && o.Ours(w.Key.Name) && !o.Deleting && o.Manifest == hash
}

// intact tells whether the object is known to say what the manifest asks for: of
// one that is observed in part, nobody knows.
func intact(manifest map[string]any, o *Observed) bool {
	if o.Partial {
		return false
	}
	asked := maps.Clone(manifest)
	if retainsReplicas(asked) {
		leaveReplicas(asked, o)
	}
	return contains(o.Object, asked)
}

// contains tells whether all that is asked for is there as asked, whatever else
// there is. What an API server writes in another form (a quantity, say) is taken
// for a difference: an apply too many does no harm.
func contains(live, asked any) bool {
	switch asked := asked.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return len(asked) == 0
		}
		for k, v := range asked {
			if !contains(l[k], v) {
				return false
			}
		}
		return true
	case []any:
		l, _ := live.([]any)
		if len(l) != len(asked) {
			return false
		}
		for i := range asked {
			if !contains(l[i], asked[i]) {
				return false
			}
		}
		return true
	case nil:
		return true // a field that is null is not asked for
	}
	return fmt.Sprint(live) == fmt.Sprint(asked)
}

// write applies the object, and lets the watch know that the change is ours.
func (c *Client) write(ctx context.Context, ref Ref, obj map[string]any) (*Observed, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, err := c.resource(ctx, ref)
	if err != nil {
		return nil, err
	}
	done := c.writing(ref)
	now, err := at.Apply(ctx, ref.Name, &unstructured.Unstructured{Object: obj}, metav1.ApplyOptions{FieldManager: propagation.FieldManager, Force: true})
	if err != nil {
		done(nil)
		return nil, c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	o := observe(now)
	done(o)
	return o, nil
}

// dress is a copy of the manifest with the marks of its Work, without what only
// an API server may set.
func dress(w *propagation.Work, manifest map[string]any) map[string]any {
	out := maps.Clone(manifest)
	meta := part(out, "metadata")
	for _, k := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		delete(meta, k)
	}
	labels := part(meta, "labels")
	labels[propagation.LabelMemberWork] = w.Key.Name
	labels[workv1alpha1.LabelManaged] = workv1alpha1.LabelManagedValue
	annotations := part(meta, "annotations")
	annotations[AnnotationWork] = propagation.WorkNamespace(w.Key.Cluster) + "/" + w.Key.Name
	annotations[AnnotationManifest] = propagation.HashJSON(manifest)
	return out
}

// part puts a copy of the object m[key] into its place, empty where there was
// none, to be changed.
func part(m map[string]any, key string) map[string]any {
	old, _ := m[key].(map[string]any)
	next := maps.Clone(old)
	if next == nil {
		next = map[string]any{}
	}
	m[key] = next
	return next
}

// retainsReplicas tells whether the template asks that the number of replicas is
// left to the member.
func retainsReplicas(obj map[string]any) bool {
	meta, _ := obj["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	return labels[propagation.LabelRetainReplicas] == "true"
}

// leavesReplicas tells whether the number of replicas is the member's: the template
// asks for that, or an autoscaler of the member sets it. The member is asked for its
// autoscalers only where somebody else has scaled the object.
func (c *Client) leavesReplicas(ctx context.Context, ref Ref, desired map[string]any, live *Observed) (bool, error) {
	switch {
	case live == nil:
		return false, nil
	case retainsReplicas(desired):
		return true, nil
	case live.replicas != scaler:
		return false, nil
	}
	return c.autoscaled(ctx, ref)
}

// leaveReplicas leaves the number of replicas as the member has it. Where somebody
// else owns the field it is left out. One that nobody else owns would fall back to
// its default if it were: it is sent as it is.
func leaveReplicas(obj map[string]any, live *Observed) {
	spec, _ := obj["spec"].(map[string]any)
	if _, sets := spec["replicas"]; !sets {
		return
	}
	spec = part(obj, "spec")
	if live.replicas != nobodyElse {
		delete(spec, "replicas")
		return
	}
	was, _ := live.Object["spec"].(map[string]any)
	if n, ok := was["replicas"]; ok {
		spec["replicas"] = n
	}
}

func refOf(manifest map[string]any) Ref {
	u := unstructured.Unstructured{Object: manifest}
	return Ref{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}
