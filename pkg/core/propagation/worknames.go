// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "slices"

// names are those that the Work's binding may give it, the present one first; nil:
// the Work does not say whose it is, or its name is none of these.
func (w *Work) names() []string {
	if w.Key.Form != PolicyForm {
		return nil
	}
	key := w.Binding()
	if key.Name == "" {
		template, err := w.Template()
		if err != nil {
			return nil
		}
		key = BindingOf(template)
	}
	if names := WorkNames(key); slices.Contains(names, w.Key.Name) {
		return names
	}
	return nil
}

// Owners are the values of LabelMemberWork by which an object in the member is this
// Work's, its own name first: it may have come by a Work of the same binding that had
// the other name.
func (w *Work) Owners() []string {
	owners := []string{w.Key.Owner()}
	for _, n := range w.names() {
		if n != w.Key.Name {
			owners = append(owners, n)
		}
	}
	return owners
}

// Successor returns the key of the Work that replaces this one where both exist: the one
// with the binding's present name if this one has the former name, else false.
func (w *Work) Successor() (WorkKey, bool) {
	names := w.names()
	if names == nil || w.Key.Name == names[0] {
		return WorkKey{}, false
	}
	return WorkKey{Cluster: w.Key.Cluster, Name: names[0], Form: w.Key.Form}, true
}

// Effective returns those of the binding's Works that count, one in a cluster: where
// a Work of the former name is left beside one of the present name, the latter. It
// changes the slice.
func Effective(key BindingKey, works []*Work) []*Work {
	present, name := map[string]bool{}, WorkName(key)
	for _, w := range works {
		present[w.Key.Cluster] = present[w.Key.Cluster] || w.Key.Name == name
	}
	return slices.DeleteFunc(works, func(w *Work) bool { return w.Key.Name != name && present[w.Key.Cluster] })
}
