// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// ConditionRendered on a binding is False while some cluster's manifest cannot
// be made; it is absent as long as that never happened.
const ConditionRendered = "Rendered"

// The reasons of ConditionRendered.
const (
	ReasonRendered = "Rendered"
	// ReasonOverrideFailed: an override asks for what the object does not allow.
	ReasonOverrideFailed = "OverrideFailed"
	// ReasonTooLarge: what the overrides make of the object fits into no Work.
	ReasonTooLarge = "TooLarge"
	// ReasonWorkNameTaken: a Work of another binding has the name.
	ReasonWorkNameTaken = "WorkNameTaken"
	// ReasonRuleFailed: a rule of the kind's owner cannot write the replicas, or nobody knows
	// the rules any more.
	ReasonRuleFailed = "RuleFailed"
	// ReasonContentLost: what was let through is kept no more.
	ReasonContentLost = "ContentLost"
)

// ErrContentLost is why no manifest can be made of what is in force: somebody deleted
// what was kept of it, or wrote something else there.
var ErrContentLost = errors.New("the content that was let through is kept no more: the member keeps what it has until a content is let through again")

// NameTaken says that a Work of the name is there, and is another binding's: it is
// left alone.
type NameTaken struct {
	Work propagation.WorkKey
	By   propagation.BindingKey
}

// Error says whose it is, and what can be done.
func (e *NameTaken) Error() string {
	return fmt.Sprintf("%s is that of %s: give one of the two templates another name", e.Work, e.By)
}

// RuleError says that a rule of the kind's owner fails.
type RuleError struct{ Err error }

// Error says what it was to do, and why it does not.
func (e *RuleError) Error() string { return e.Err.Error() }

func (e *RuleError) Unwrap() error { return e.Err }

// Failure is why a cluster's manifest cannot be made.
type Failure struct {
	Cluster string
	Err     error
}

// Rendered is the condition that says which clusters' manifests cannot be made;
// what many have in common is said once.
func Rendered(failures []Failure) metav1.Condition {
	c := metav1.Condition{Type: ConditionRendered, Status: metav1.ConditionTrue, Reason: ReasonRendered, Message: "every cluster's manifest is made"}
	if len(failures) == 0 {
		return c
	}
	c.Status, c.Reason = metav1.ConditionFalse, ReasonOverrideFailed
	var why []string
	clusters := map[string][]string{}
	for _, f := range failures {
		text := f.Err.Error()
		if clusters[text] == nil {
			why = append(why, text)
		}
		clusters[text] = append(clusters[text], f.Cluster)
		if tooLarge := (*TooLarge)(nil); errors.As(f.Err, &tooLarge) {
			c.Reason = ReasonTooLarge
		}
		if taken := (*NameTaken)(nil); errors.As(f.Err, &taken) {
			c.Reason = ReasonWorkNameTaken
		}
		if rule := (*RuleError)(nil); errors.As(f.Err, &rule) {
			c.Reason = ReasonRuleFailed
		}
		if errors.Is(f.Err, ErrContentLost) {
			c.Reason = ReasonContentLost
		}
	}
	for i, text := range why {
		why[i] = some(clusters[text]) + ": " + text
	}
	c.Message = conditions.List(why)
	return c
}

// Concerns reports whether the condition Rendered may be about the cluster: it names the
// cluster, or does not name all.
func Concerns(c metav1.Condition, cluster string) bool {
	if strings.Contains(c.Message, " more") {
		return true
	}
	for part := range strings.SplitSeq(c.Message, "; ") {
		names, _, _ := strings.Cut(part, ": ")
		if slices.Contains(strings.Split(names, ", "), cluster) {
			return true
		}
	}
	return false
}

// some names a few clusters and counts the others.
func some(clusters []string) string {
	const few = 5
	if len(clusters) <= few {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:few], ", "), len(clusters)-few)
}

// Render is the Work that the cluster gets of the content that is in force. An error is one
// of Manifest's, a *TooLarge, or a *RuleError because nobody knows the rules any more.
func Render(known kinds.Table, b *propagation.Binding, content map[string]any, cluster *clusterv1alpha1.Cluster, overrides []propagation.Override) (*propagation.Work, error) {
	if err := known.Of(content).Undefined(); err != nil {
		return nil, &RuleError{Err: err}
	}
	if b.PermanentID() == "" { // so it was rendered then
		content, _ = clone(content).(map[string]any)
		known.Of(content).Unshare(content)
	}
	share := replicasFor(b, cluster.Name)
	manifest, err := Manifest(known, content, cluster, b.Template(), overrides, share)
	if errors.Is(err, kinds.ErrNoReplicas) && *share == b.Spec.Replicas { // all of them, as the content says
		manifest, err = Manifest(known, content, cluster, b.Template(), overrides, nil)
	}
	if err != nil {
		return nil, err
	}
	mark(b, manifest)
	w, err := Work(b, cluster.Name, manifest)
	if err != nil {
		return nil, err
	}
	if by := Overridden(overrides, b.Template(), stringMap(child(content, "metadata")["labels"]), cluster); by != "" {
		w.Annotations[propagation.AnnotationOverrides] = by
	}
	if fields := known.Of(manifest).MemberFields(); len(fields) > 0 {
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = f.String()
		}
		w.Annotations[propagation.AnnotationMemberFields] = strings.Join(texts, ",")
	}
	return w, nil
}

// replicasFor is the cluster's share; nil: the content says how many. A cluster
// that has the template only because others refer to it has no share.
func replicasFor(b *propagation.Binding, cluster string) *int32 {
	if b.Spec.Replicas == 0 {
		return nil
	}
	for _, t := range b.Spec.Clusters {
		if t.Name == cluster {
			return &t.Replicas
		}
	}
	return nil
}

// Manifest is what the cluster gets: the content, without what the hub assigned,
// with the cluster's replicas (nil: the content's), and overridden. An error is
// an *OverrideError or a *RuleError.
func Manifest(known kinds.Table, content map[string]any, cluster *clusterv1alpha1.Cluster, template propagation.TemplateKey, overrides []propagation.Override, replicas *int32) (map[string]any, error) {
	obj, _ := clone(content).(map[string]any)
	if obj == nil {
		return nil, fmt.Errorf("the content of %s is empty", template)
	}
	if err := template.Identifies(obj); err != nil {
		return nil, fmt.Errorf("the content of %s: %w", template, err)
	}
	Prune(obj)
	if replicas != nil {
		if err := known.Of(obj).SetReplicas(obj, *replicas); err != nil {
			return nil, &RuleError{Err: fmt.Errorf("write the replicas: %w", err)}
		}
	}
	labels := stringMap(child(obj, "metadata")["labels"])
	for _, o := range inForce(overrides, template, labels) {
		next, err := override(obj, o, cluster)
		if err != nil {
			return nil, err
		}
		if err := sameObject(template, next); err != nil {
			return nil, &OverrideError{Override: o.Key, Err: err}
		}
		obj = next
	}
	return obj, nil
}

// sameObject says which part of the template's identity the object does not
// have, or what it has that is each cluster's own to say. The version of its API is
// none: a cluster may serve another.
func sameObject(template propagation.TemplateKey, obj map[string]any) error {
	is := propagation.KeyOf(obj)
	switch {
	case is.ID() == template.ID():
		return ownMetadata(obj)
	case is.GroupVersionKind().GroupKind() != template.GroupVersionKind().GroupKind():
		return errors.New("changes the kind")
	}
	return errors.New("changes the name or the namespace")
}

// ownMetadata refuses metadata that only the cluster of the object can tell: an owner
// that is not there has its garbage collector delete the object, and a finalizer that
// nobody takes off keeps it from ever being deleted.
func ownMetadata(obj map[string]any) error {
	for _, field := range slices.Sorted(maps.Keys(child(obj, "metadata"))) {
		if !slices.Contains(carriedMetadata, field) {
			return fmt.Errorf("sets metadata.%s: of the metadata, only labels and annotations can be overridden", field)
		}
	}
	return nil
}
