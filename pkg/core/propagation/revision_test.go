// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"testing"

	"sluice.dev/pkg/core/propagation"
)

func TestGenuine(t *testing.T) {
	key := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	content := func(change func(obj, meta map[string]any)) map[string]any {
		meta := map[string]any{"namespace": "shop", "name": "nginx", "labels": map[string]any{"app": "nginx"}}
		obj := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": map[string]any{"replicas": int64(1)}}
		if change != nil {
			change(obj, meta)
		}
		return obj
	}
	genuine := propagation.HashContent(content(nil))
	binding := &propagation.Binding{Key: propagation.BindingOf(key)}
	binding.Spec.Resource.APIVersion, binding.Spec.Resource.Kind = key.APIVersion, key.Kind
	binding.Spec.Resource.Namespace, binding.Spec.Resource.Name = key.Namespace, key.Name
	binding.Annotations = map[string]string{
		propagation.AnnotationContentHash: genuine, propagation.AnnotationRevision: propagation.RevisionName(binding.Key, genuine),
	}
	inForce := binding.Revision()
	for sentence, tc := range map[string]struct {
		name    string
		content map[string]any
		want    bool
	}{
		"what was let through":                 {inForce, content(nil), true},
		"the same with what the system writes": {inForce, content(func(obj, _ map[string]any) { obj["status"] = map[string]any{} }), true},
		"other content":                        {inForce, content(func(obj, _ map[string]any) { obj["spec"] = nil }), false},
		"no content at all":                    {inForce, nil, false},
		"another kind":                         {inForce, content(func(obj, _ map[string]any) { obj["kind"] = "StatefulSet" }), false},
		"another group":                        {inForce, content(func(obj, _ map[string]any) { obj["apiVersion"] = "example.com/v1" }), false},
		"another namespace":                    {inForce, content(func(_, meta map[string]any) { meta["namespace"] = "kube-system" }), false},
		"another name":                         {inForce, content(func(_, meta map[string]any) { meta["name"] = "other" }), false},
		"a name that is no text":               {inForce, content(func(_, meta map[string]any) { meta["name"] = int64(1) }), false},
		"no namespace":                         {inForce, content(func(_, meta map[string]any) { delete(meta, "namespace") }), false},
		"the content in force under a name of no content": {"nginx-deployment-0000000000", content(nil), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := binding.Genuine(&propagation.Revision{Name: tc.name, Binding: binding.Key, Content: tc.content})
			if (err == nil) != tc.want {
				t.Errorf("%v, want genuine: %t", err, tc.want)
			}
		})
	}
	former := content(func(obj, _ map[string]any) { obj["spec"] = map[string]any{"replicas": int64(7)} })
	hash := propagation.HashContent(former)
	for sentence, name := range map[string]string{
		"what was in force before":                           propagation.RevisionName(binding.Key, hash),
		"what an earlier version kept, under a shorter name": propagation.FormerRevisionName(binding.Key, hash),
	} {
		if err := binding.Genuine(&propagation.Revision{Name: name, Content: former}); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}
