// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/propagation"
)

var deployment = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}

func decodeDeployment(raw []byte) (record[*propagation.Template], error) {
	return decodeTemplate(deployment, raw)
}

func decodeNamespacedBinding(raw []byte) (record[*propagation.Binding], error) {
	return decodeBinding(propagation.Namespaced, raw)
}

// sample is a realistic object in JSON, of the application called app-0.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes()
}

// filled is a store with n objects.
func filled[T any](t *testing.T, n int, raw []byte, decode func([]byte) (record[T], error)) *store[T] {
	t.Helper()
	s := newStore[T]()
	for i := range n {
		r, err := decode(bytes.ReplaceAll(raw, []byte("app-0"), []byte("app-"+strconv.Itoa(1000+i))))
		if err != nil {
			t.Fatal(err)
		}
		r.version = uint64(i + 1)
		s.observe(&r, false)
	}
	s.take()
	return s
}

// TestStoreIsSmall allows a tenth of what a hub with 5,000 templates in three
// members has a tenth of 150 MB, so that all of it stays below 300 MB with the
// garbage of an ordinary day.
func TestStoreIsSmall(t *testing.T) {
	const templates, limit = 500, 15 << 20
	before := heap()
	stores := []any{
		filled(t, templates, sample(t, "template"), decodeDeployment),
		filled(t, templates, sample(t, "binding"), decodeNamespacedBinding),
		filled(t, templates, sample(t, "revision"), decodeRevision),
		filled(t, 3*templates, sample(t, "work"), decodePolicyWork),
	}
	used := heap() - before
	t.Logf("%d bytes for a template with all that belongs to it", used/templates)
	if used > limit {
		t.Errorf("%d bytes, want at most %d", used, limit)
	}
	runtime.KeepAlive(stores)
}

func decodePolicyWork(raw []byte) (record[*propagation.Work], error) {
	return decodeWork(propagation.PolicyForm, raw)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkDecodeTemplate(b *testing.B) { benchmarkDecode(b, "template", decodeDeployment) }
func BenchmarkDecodeBinding(b *testing.B)  { benchmarkDecode(b, "binding", decodeNamespacedBinding) }
func BenchmarkDecodeWork(b *testing.B)     { benchmarkDecode(b, "work", decodePolicyWork) }

func benchmarkDecode[T any](b *testing.B, name string, decode func([]byte) (record[T], error)) {
	raw := sample(b, name)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}
