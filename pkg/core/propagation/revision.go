// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"errors"
	"fmt"
)

// Revision is frozen content: what the gate let through.
type Revision struct {
	Namespace string
	Name      string
	Binding   BindingKey
	Hash      string
	// Number grows by one with each revision of a binding.
	Number int64
	// Content is Content(template) at that time, as decoded JSON.
	Content map[string]any
}

// Who may write ControllerRevisions and Secrets of a namespace may write what is
// kept there. So it is believed only as far as it can be checked: against the
// hash that the binding holds, and the template that it names.
var (
	errOtherContent = errors.New("its content is not what was let through")
	errOtherName    = errors.New("its name is not that of its content")
)

// Genuine says what makes kept content unfit for use: it is of another object
// than the binding's template, or not what the hash in the binding, or for
// content that is not in force its name, stands for. nil: it may be used.
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

// Identifies says in what an object is another than the key names. The version
// of its API is no part of that.
func (k TemplateKey) Identifies(obj map[string]any) error {
	is := KeyOf(obj)
	if is.ID() != k.ID() {
		return fmt.Errorf("it is %s of group %q, and not %s of group %q", is, is.GroupVersionKind().Group, k, k.GroupVersionKind().Group)
	}
	return nil
}

// KeyOf is what an object says that it is.
func KeyOf(obj map[string]any) TemplateKey {
	text := func(m map[string]any, field string) string { s, _ := m[field].(string); return s }
	meta, _ := obj["metadata"].(map[string]any)
	return TemplateKey{
		APIVersion: text(obj, "apiVersion"), Kind: text(obj, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name"),
	}
}
