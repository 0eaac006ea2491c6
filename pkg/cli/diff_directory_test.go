// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory is taken as kubectl takes it: its files with manifests, and none of those
// below.
func TestDiffOfADirectory(t *testing.T) {
	hub, _ := pendingShop(t)
	dir := t.TempDir()
	file := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	diff := func(want string) {
		t.Helper()
		a := run(t, hub, "diff", "-f", dir)
		a.wants(t, "")
		wantText(t, want, a.out)
	}
	file("README.md", "no: YAML: at all")
	run(t, hub, "diff", "-f", dir).wants(t, "there is no .json, .yaml or .yml file in "+dir)
	run(t, hub, "diff", "-f", filepath.Join(dir, "none")).wants(t, "no such file")
	file("a.yaml", strings.Replace(planned, "kind: Deployment}", "kind: Deployment, name: a}", 1))
	file("below/c.yaml", "kind: unread")
	file("d.yaml/e.yaml", "kind: unread")
	diff(`
		NAMESPACE TEMPLATE HELD BY NOW LATER
		shop deployment/a pp/web - leaves member1; joins member3
		shop deployment/b pp/web → nobody - -
		shop deployment/c pp/web → nobody - -

		0 templates change now, 1 later; 0 others stay as they are.
		Later: when the template changes, or with 'kubectl sluice activate'.`)
	file("0.json", `{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "next"},
		"spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}], "placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}`)
	file("z.yml", strings.NewReplacer("kind: Deployment}", "kind: Deployment, name: c}", "name: web", "name: last").Replace(planned))
	diff(`
		NAMESPACE TEMPLATE HELD BY NOW LATER
		shop deployment/a pp/web - leaves member1; joins member3
		shop deployment/b pp/web → pp/next leaves member1; joins member3 -
		shop deployment/c pp/web → pp/last - joins member3

		1 template changes now, 2 later; 0 others stay as they are.
		Later: when the template changes, or with 'kubectl sluice activate'.`)
}
