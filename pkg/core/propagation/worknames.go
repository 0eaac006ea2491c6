// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "slices"

// names are the names that the Work's binding may give it, the present one first; nil:
// the Work does not name its binding, or has neither of these names.
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

// Owners returns the values of LabelMemberWork that mark an object in the member as
// this Work's, its own name first: the object may have been applied by a Work of the
// same binding with the other name.
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

// Effective returns the binding's Works that count, one for each cluster: where a Work
// with the former name remains beside one with the present name, the latter counts. It
// changes the slice.
func Effective(key BindingKey, works []*Work) []*Work {
	present, name := map[string]bool{}, WorkName(key)
	for _, w := range works {
		present[w.Key.Cluster] = present[w.Key.Cluster] || w.Key.Name == name
	}
	return slices.DeleteFunc(works, func(w *Work) bool { return w.Key.Name != name && present[w.Key.Cluster] })
}
