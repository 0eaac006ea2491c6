// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

func TestZ4WhoseABindingIsItsOwnerSays(t *testing.T) {
	template := func(apiVersion, kind, name string, uid string) workv1alpha2.ObjectReference {
		return workv1alpha2.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: name, UID: types.UID(uid)}
	}
	key := func(r workv1alpha2.ObjectReference) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
	}
	stem := strings.Repeat("a", 242) // two templates whose bindings have one name
	nginx, first, second := template("apps/v1", "Deployment", "nginx", "1"), template("v1", "ConfigMap", stem+"0031ed", "1"), template("v1", "ConfigMap", stem+"05564f", "2")
	nobody := workv1alpha2.ObjectReference{}
	for sentence, tc := range map[string]struct {
		of           workv1alpha2.ObjectReference // the template that asks
		owner, names workv1alpha2.ObjectReference
		want         bool
		wantTemplate workv1alpha2.ObjectReference
	}{
		"it names its owner":                                       {nginx, nginx, nginx, true, nginx},
		"it names its owner in another version":                    {nginx, template("apps/v2", "Deployment", "nginx", "1"), nginx, true, nginx},
		"somebody edited the group into another that is built in":  {nginx, nginx, template("batch/v1", "Deployment", "nginx", "1"), true, nginx},
		"somebody edited the group into one that is not":           {nginx, nginx, template("extensions/v1beta1", "Deployment", "nginx", "1"), true, nginx},
		"somebody edited the kind":                                 {nginx, nginx, template("apps/v1", "StatefulSet", "nginx", "1"), true, nginx},
		"somebody edited the name":                                 {nginx, nginx, template("apps/v1", "Deployment", "other", "1"), true, nginx},
		"somebody edited the uid":                                  {nginx, nginx, template("apps/v1", "Deployment", "nginx", "9"), true, nginx},
		"somebody took the words away":                             {nginx, nginx, nobody, true, nginx},
		"somebody edited the owner's group":                        {nginx, template("batch/v1", "Deployment", "nginx", "1"), nginx, true, template("batch/v1", "Deployment", "nginx", "1")},
		"somebody edited the owner into what has no such binding":  {nginx, template("apps/v1", "Deployment", "other", "9"), nginx, true, nginx},
		"nobody owns it":                                           {nginx, nobody, nginx, true, nginx},
		"nobody owns it, and it names what has no such binding":    {nginx, nobody, template("apps/v1", "Deployment", "other", "1"), true, template("apps/v1", "Deployment", "other", "1")},
		"it is of a former template":                               {template("apps/v1", "Deployment", "nginx", "2"), nginx, nginx, true, nginx},
		"Z34 it is another's, whose binding has the name":          {second, first, first, false, first},
		"Z34 it is another's, and somebody had it name this one":   {second, first, second, false, first},
		"Z34 it is this one's, and somebody had it name the other": {first, first, second, true, first},
		"Z34 nobody owns it, and it names another":                 {second, nobody, first, false, first},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := &propagation.Binding{Key: propagation.BindingOf(key(tc.of)), Owner: tc.owner}
			b.Spec.Resource = tc.names
			if got := b.Of(&propagation.Template{Key: key(tc.of), UID: tc.of.UID}); got != tc.want {
				t.Errorf("it is the template's: %t, want %t", got, tc.want)
			}
			if got := b.Template(); got != key(tc.wantTemplate) {
				t.Errorf("its template is %+v, want %+v", got, key(tc.wantTemplate))
			}
		})
	}
}
