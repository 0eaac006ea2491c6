// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "strconv"

// After an upgrade of the API server or a change of a schema, default values appear in
// fields that stored objects do not have. Neither generation nor resourceVersion
// changes: nobody has written the template, so it counts as unchanged.

// Written identifies what the user wrote last, whatever fields the API server fills in. It
// is the generation, which counts the changes of the spec, with a hash of the rest; for
// kinds without generation it is the version, which counts every write.
func (t *Template) Written() string {
	generation := Generation(t.Object)
	if generation == 0 {
		return "v" + t.ResourceVersion
	}
	rest := contentWith(t.Object, func(key string) bool { return !IsSystemKey(key) })
	delete(rest, "spec")
	delete(rest, "apiVersion")
	return "g" + strconv.FormatInt(generation, 10) + "/" + HashJSON(rest)
}

// Generation returns the metadata.generation of an object; 0 where it has none.
func Generation(obj map[string]any) int64 {
	meta, _ := obj["metadata"].(map[string]any)
	generation, _ := meta["generation"].(int64)
	return generation
}

// unwritten reports whether nobody has written the template since the binding acted on
// it, although its content differs.
func (t *Template) unwritten(b *Binding) bool {
	acted := b.ActedHash()
	return acted != "" && acted != t.Hash && b.TemplateUID() == t.UID && b.Annotations[AnnotationWritten] == t.Written()
}

// Itself returns the template with the hash of its present content, including fields that
// the API server filled in.
func (t *Template) Itself() *Template {
	itself := *t
	itself.Hash = HashContent(t.Object)
	return &itself
}
