// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
)

func fromYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestZ39AWorkCarriesNoContentOfSecrets(t *testing.T) {
	for sentence, tc := range map[string]struct {
		manifest string
		// sealed is what the Work carries, but for the hash; empty: the manifest.
		sealed string
	}{
		"data, stringData and what kubectl applied last stay outside": {
			`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: s, namespace: shop, labels: {a: b}, annotations: {note: n, kubectl.kubernetes.io/last-applied-configuration: hunter2}}, data: {k: hunter2}, stringData: {k2: hunter2}}`,
			`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: s, namespace: shop, labels: {a: b}, annotations: {note: n}}}`,
		},
		"a Secret without content is sealed as well": {
			`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, annotations: {}}}`,
		},
		"nobody else's word for its content counts": {
			`{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {sluice.dev/sealed: forged}}, data: {k: hunter2}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {}}}`,
		},
		"another kind is carried as it is":     {`{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {k: v}}`, ""},
		"another group's Secret is none of it": {`{apiVersion: example.com/v1, kind: Secret, metadata: {name: s}, data: {k: v}}`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			manifest := fromYAML(t, tc.manifest)
			before := HashJSON(manifest)
			sealed, hash, whole, err := Seal(manifest)
			if err != nil || HashJSON(manifest) != before {
				t.Fatalf("%v; or the manifest was changed", err)
			}
			if tc.sealed == "" {
				if hash != "" || HashJSON(sealed) != before || SealedHash(sealed) != "" || ManifestHash(sealed) != before {
					t.Errorf("got %v, sealed as %q", sealed, hash)
				}
				return
			}
			want := fromYAML(t, tc.sealed)
			want["metadata"].(map[string]any)["annotations"].(map[string]any)[AnnotationSealed] = hash
			if d := cmp.Diff(want, sealed); d != "" {
				t.Errorf("the Work carries (-want +got)\n%s", d)
			}
			open, ok := Open(sealed, Contents{hash: whole})
			if !ok || ManifestHash(sealed) != ManifestHash(open) || ManifestHash(open) != HashJSON(open) {
				t.Fatalf("opened to %v, %t", open, ok)
			}
			if strings.Contains(tc.manifest, "forged") {
				delete(manifest["metadata"].(map[string]any), "annotations")
			}
			if d := cmp.Diff(manifest, open); d != "" {
				t.Errorf("opened (-want +got)\n%s", d)
			}
			raw, err := json.Marshal(sealed)
			if err != nil {
				t.Fatal(err)
			}
			w := &Work{}
			w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
			if d := cmp.Diff([]string{hash}, w.Sealed()); d != "" || strings.Contains(string(raw), "hunter2") {
				t.Errorf("in a Work: %s\n%s", raw, d)
			}
		})
	}
}

func TestZ39OnlyTheContentThatWasSealedOpensAManifest(t *testing.T) {
	sealed, hash, whole, err := Seal(fromYAML(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, data: {k: v}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, otherHash, other, err := Seal(fromYAML(t, `{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop}, data: {k: v}}`))
	if err != nil {
		t.Fatal(err)
	}
	renamed := fromYAML(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, annotations: {sluice.dev/sealed: `+otherHash+`}}}`)
	for sentence, tc := range map[string]struct {
		manifest map[string]any
		kept     Contents
		want     bool
	}{
		"its own":                     {sealed, Contents{hash: whole, otherHash: other}, true},
		"nothing is kept":             {sealed, nil, false},
		"another's alone":             {sealed, Contents{otherHash: other}, false},
		"another's under its hash":    {sealed, Contents{hash: other}, false},
		"what is no JSON":             {sealed, Contents{hash: []byte("{")}, false},
		"what is null":                {sealed, Contents{hash: []byte("null")}, false},
		"that of an object elsewhere": {renamed, Contents{otherHash: other}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, ok := Open(tc.manifest, tc.kept); ok != tc.want {
				t.Errorf("opened: %t, want %t", ok, tc.want)
			}
		})
	}
}
