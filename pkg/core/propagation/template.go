// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Template is a hub object to be propagated, as it was read.
type Template struct {
	Key             TemplateKey
	UID             types.UID
	ResourceVersion string
	Created         time.Time
	// LastUserWrite is when somebody other than Sluice last wrote anything but
	// the status (one second's resolution, from managedFields).
	LastUserWrite time.Time
	// Ours: the last write was Sluice's own, its status included. False where
	// somebody else may have written in the same second.
	Ours     bool
	Deleting bool
	Labels   map[string]string
	// Claim is what the template's metadata says; the zero Claim: nobody's.
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
	// ID is the policy's permanent id: a policy made anew under an old name is
	// another policy.
	ID string
}

// Held reports whether any policy holds the template.
func (c Claim) Held() bool { return c.ID != "" }

// By reports whether p is the policy that holds the template.
func (c Claim) By(p *Policy) bool { return p != nil && c.Policy == p.Key && c.ID == p.ID }

// Metadata is the claim as labels and annotations; all of ClaimKeys, with nil
// for those that must not be there.
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

// ClaimFrom reads a claim from labels and annotations. A claim that lacks a
// part, as after somebody removed a label, is none.
func ClaimFrom(labels, annotations map[string]string) Claim {
	if id, ns, name := labels[ClaimLabelNamespaced], annotations[ClaimNamespacedNamespace], annotations[ClaimNamespacedName]; id != "" && ns != "" && name != "" {
		return Claim{Policy: PolicyKey{Scope: Namespaced, Namespace: ns, Name: name}, ID: id}
	}
	if id, name := labels[ClaimLabelCluster], annotations[ClaimClusterName]; id != "" && name != "" {
		return Claim{Policy: PolicyKey{Scope: Cluster, Name: name}, ID: id}
	}
	return Claim{}
}

// ClaimMetadataMatches tells whether labels and annotations say exactly c: all
// of its keys and none of another claim's. A forged or half removed claim does
// not match.
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

// Baseline is the content that a Lazy policy found when it claimed a template
// that was there before. Empty: none.
type Baseline string

// NewBaseline is the baseline of a template as read.
func NewBaseline(t *Template) Baseline {
	return Baseline(t.ResourceVersion + "/" + t.Hash)
}

// Hash is the content's hash.
func (b Baseline) Hash() string {
	_, hash, _ := strings.Cut(string(b), "/")
	return hash
}

// Sighting is when a template was first seen with a content. What Sluice and
// others write of the rest, later, does not make the content any newer.
type Sighting struct {
	// Content tells contents, of one object and of others, apart.
	Content string
	// Version is the resourceVersion then.
	Version uint64
	// Written is LastUserWrite then, in seconds since 1970.
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

// Annotations are the template's, as far as they are strings.
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
