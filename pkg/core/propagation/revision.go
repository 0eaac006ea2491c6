// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// Revision is frozen content: a template's content that the gate passed.
type Revision struct {
	Namespace string
	Name      string
	Binding   BindingKey
	Hash      string
	// Number grows by one with each revision of a binding.
	Number int64
	// Content is Content(template) as of that time, as decoded JSON.
	Content map[string]any
	// Owner is the uid of the binding that owns it.
	Owner types.UID
}

// Whoever may write ControllerRevisions and Secrets of a namespace may forge frozen
// content. So it is used only if it agrees with the hash that the binding records, and
// is of the template that the binding names.
var (
	errOtherContent = errors.New("its content is not what was let through")
	errOtherName    = errors.New("its name is not that of its content")
)

// Genuine returns nil if the kept content may be used. It returns an error if the content
// is that of another object than the binding's template, or does not have the hash that
// the binding records; for content that is not in force, the hash in its name.
func (b *Binding) Genuine(r *Revision) error {
	if err := b.Template().Identifies(r.Content); err != nil {
		return err
	}
	hash := HashContent(r.Content)
	switch {
	case r.Name == b.Revision():
		if hash != b.ActedHash() {
			return errOtherContent
		}
	case r.Name != RevisionName(b.Key, hash) && r.Name != FormerRevisionName(b.Key, hash):
		return errOtherName
	}
	return nil
}
