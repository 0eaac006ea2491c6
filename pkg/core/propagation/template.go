// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// NoTemplate says that a template does not exist (Err), and when its kind's
// CustomResourceDefinition was made; zero: there is none, or nobody knows.
type NoTemplate struct {
	Defined time.Time
	Err     error
}

// Error is that of Err.
func (n *NoTemplate) Error() string { return n.Err.Error() }

// Unwrap returns Err.
func (n *NoTemplate) Unwrap() error { return n.Err }

// DefinedSince returns NoTemplate.Defined of an error; zero where it says nothing of it.
func DefinedSince(err error) time.Time {
	var none *NoTemplate
	if errors.As(err, &none) {
		return none.Defined
	}
	return time.Time{}
}

// MayBeDefined reports whether a kind of the API group may have a
// CustomResourceDefinition.
func MayBeDefined(group string) bool { return strings.Contains(group, ".") }

// Template is a hub object to be propagated, as it was read.
type Template struct {
	Key             TemplateKey
	UID             types.UID
	ResourceVersion string
	Created         time.Time
	// LastUserWrite is when somebody other than Sluice last wrote anything but the
	// status and the system's labels and annotations, from managedFields, in whole
	// seconds.
	LastUserWrite time.Time
	// Ours reports that the last write, of the status or anything else, was Sluice's
	// own. It is false if somebody else may have written in the same second.
	Ours     bool
	Deleting bool
	Labels   map[string]string
	// Claim is the claim in the template's metadata; the zero Claim: there is none.
	Claim Claim
	// Baseline is AnnotationBaseline, or empty.
	Baseline Baseline
	// Hash is HashContent(Object).
	Hash string
	// Object is the whole object as decoded JSON. Never changed in place.
	Object map[string]any
}

// Claim says which policy holds a template.
type Claim struct {
	Policy PolicyKey
	// ID is the policy's permanent id: a policy that is created again under the same
	// name is another policy.
	ID string
}

// Held reports whether any policy holds the template.
func (c Claim) Held() bool { return c.ID != "" }

// By reports whether p is the policy that holds the template.
func (c Claim) By(p *Policy) bool { return p != nil && c.Policy == p.Key && c.ID == p.ID }

// Metadata returns the claim as labels and annotations: all keys of claims, with nil
// for those that must be absent.
func (c Claim) Metadata() (labels, annotations map[string]*string) {
	labels = map[string]*string{ClaimLabelNamespaced: nil, ClaimLabelCluster: nil}
	annotations = map[string]*string{ClaimNamespacedNamespace: nil, ClaimNamespacedName: nil, ClaimClusterName: nil}
	switch {
	case !c.Held():
	case c.Policy.Scope == Namespaced:
		labels[ClaimLabelNamespaced] = &c.ID
		annotations[ClaimNamespacedNamespace] = &c.Policy.Namespace
		annotations[ClaimNamespacedName] = &c.Policy.Name
	default:
		labels[ClaimLabelCluster] = &c.ID
		annotations[ClaimClusterName] = &c.Policy.Name
	}
	return labels, annotations
}

// ClaimFrom reads a claim from labels and annotations. If a part is missing, because
// somebody removed a label for example, there is no claim.
func ClaimFrom(labels, annotations map[string]string) Claim {
	if id, ns, name := labels[ClaimLabelNamespaced], annotations[ClaimNamespacedNamespace], annotations[ClaimNamespacedName]; id != "" && ns != "" && name != "" {
		return Claim{Policy: PolicyKey{Scope: Namespaced, Namespace: ns, Name: name}, ID: id}
	}
	if id, name := labels[ClaimLabelCluster], annotations[ClaimClusterName]; id != "" && name != "" {
		return Claim{Policy: PolicyKey{Scope: Cluster, Name: name}, ID: id}
	}
	return Claim{}
}

// ClaimMetadataMatches reports whether labels and annotations say exactly c: all of its
// keys and none of another claim. A forged or partly removed claim does not match.
func ClaimMetadataMatches(c Claim, labels, annotations map[string]string) bool {
	l, a := c.Metadata()
	return same(l, labels) && same(a, annotations)
}

func same(want map[string]*string, have map[string]string) bool {
	for k, w := range want {
		h, ok := have[k]
		if ok != (w != nil) || ok && h != *w {
			return false
		}
	}
	return true
}

// Baseline is the content that a template had when a Lazy policy claimed it, as
// "resourceVersion@version/hash", with the version of the kind's API in which it was
// read, which older releases leave out; empty: none.
type Baseline string

// NewBaseline returns the baseline of a template as it was read.
func NewBaseline(t *Template) Baseline {
	apiVersion, _ := t.Object["apiVersion"].(string)
	return Baseline(t.ResourceVersion + "@" + schema.FromAPIVersionAndKind(apiVersion, "").Version + "/" + t.Hash)
}

// Hash returns the hash of the content.
func (b Baseline) Hash() string {
	_, hash, _ := strings.Cut(string(b), "/")
	return hash
}

// AsFound reports whether the template has the content of its baseline, also if that was
// read in another version of the kind's API.
func (t *Template) AsFound() bool {
	found := t.Baseline.Hash()
	if found == "" || found == t.Hash {
		return found != ""
	}
	read, _, _ := strings.Cut(string(t.Baseline), "/")
	_, version, _ := strings.Cut(read, "@")
	return version != "" && t.As(schema.GroupVersion{Group: t.Key.GroupVersionKind().Group, Version: version}.String()).Hash == found
}

// Sighting records when a template was first seen with its content. Later writes that
// leave the content as it is do not change that.
type Sighting struct {
	// Content identifies the object and its content.
	Content string
	// Version is the resourceVersion at that time.
	Version uint64
	// Written is LastUserWrite at that time, in seconds since 1970.
	Written int64
}

// Of returns s if it is of the content that t has, else a new sighting of t.
func (s Sighting) Of(t *Template) Sighting {
	now := Sighting{Content: string(t.UID) + "/" + t.Hash, Version: Version(t.ResourceVersion), Written: t.LastUserWrite.Unix()}
	if s.Content == now.Content && s.Version <= now.Version {
		return s
	}
	return now
}

// Version returns a resourceVersion as a number, which orders the writes of one API
// server; 0 if it is no number.
func Version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Annotations returns the template's annotations; values that are not strings are left
// out.
func (t *Template) Annotations() map[string]string {
	meta, _ := t.Object["metadata"].(map[string]any)
	raw, _ := meta["annotations"].(map[string]any)
	out := make(map[string]string, len(raw))
	for k, v := range raw {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}
