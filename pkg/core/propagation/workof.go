// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"fmt"
)

// Whose a Work is, its annotations say, and its name, which ends in a hash of its binding's
// key, confirms it. Where somebody edited what the annotations say, its manifest does, if
// the name confirms that; a former name, of 40 bits of hash, does so with the label of its
// binding only.

// Binding returns the key of the Work's binding. Where its annotations name one that cannot
// have a Work of this name, and its template's binding can, somebody edited them: then it
// is the template's.
func (w *Work) Binding() BindingKey {
	named := w.bindingNamed()
	if w.Key.Form == PlacementForm || named.Name == "" || w.mayBeOf(named) {
		return named
	}
	if t, err := w.Template(); err == nil && w.mayBeOf(BindingOf(t)) {
		return BindingOf(t)
	}
	return named
}

func (w *Work) bindingNamed() BindingKey {
	if name := w.Annotations[AnnotationClusterBindingName]; name != "" {
		return BindingKey{Name: name}
	}
	return BindingKey{Namespace: w.Annotations[AnnotationBindingNamespace], Name: w.Annotations[AnnotationBindingName]}
}

// mayBeOf reports whether the binding's Works have the Work's name. Nearly all have the
// present one, and each name costs a hash.
func (w *Work) mayBeOf(key BindingKey) bool {
	return w.Key.Name == WorkName(key) || w.Key.Name == FormerWorkName(key)
}

// IsOf reports whether the Work is of the binding, or names none. A Work of another
// binding has the name of this one's Works by a collision of hashes, which somebody may
// have made on purpose.
func (w *Work) IsOf(key BindingKey) bool {
	is := w.Binding()
	return is == key || is.Name == ""
}

// Confirmed reports whether the Work has a name that Works of its template's binding have.
// One that somebody made by hand, or copied under another name, is nobody's: nothing says
// that its object has to be in the member.
func (w *Work) Confirmed() bool {
	t, err := w.Template()
	return err == nil && (w.Key.Form == PlacementForm || w.mayBeOf(BindingOf(t)))
}

// Template returns the key of the Work's template, from its annotation, or from its
// manifest where somebody edited that; for a Work of a placement, that is the placement.
func (w *Work) Template() (TemplateKey, error) {
	if w.Key.Form == PlacementForm {
		if w.Placement() == "" {
			return TemplateKey{}, fmt.Errorf("%s names no placement", w.Key)
		}
		return PlacementKey(w.Placement()), nil
	}
	k, err := w.templateNamed()
	if err == nil && w.mayBeOf(BindingOf(k)) {
		return k, nil
	}
	if made, is := w.madeFrom(); is {
		return made, nil
	}
	return k, err
}

func (w *Work) templateNamed() (k TemplateKey, err error) {
	if err := json.Unmarshal([]byte(w.Annotations[AnnotationTemplate]), &k); err != nil {
		return k, fmt.Errorf("annotation %s of %s: %w", AnnotationTemplate, w.Key, err)
	}
	if k.APIVersion == "" || k.Kind == "" || k.Name == "" {
		return k, fmt.Errorf("annotation %s of %s names no template", AnnotationTemplate, w.Key)
	}
	return k, nil
}

// madeFrom returns the template that the Work's manifest was made from; false: the Work's
// name is not that of its Works, or a former one that the label does not confirm.
func (w *Work) madeFrom() (k TemplateKey, is bool) {
	if len(w.Spec.Workload.Manifests) == 0 {
		return k, false
	}
	var manifest struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &manifest); err != nil {
		return k, false
	}
	k = TemplateKey{APIVersion: manifest.APIVersion, Kind: manifest.Kind, Namespace: manifest.Metadata.Namespace, Name: manifest.Metadata.Name}
	binding := BindingOf(k)
	return k, w.Key.Name == WorkName(binding) || w.Key.Name == FormerWorkName(binding) && w.Labels[LabelBinding] == BindingLabel(binding)
}
