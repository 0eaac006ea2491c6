// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"strings"
	"testing"

	"sluice.dev/pkg/core/propagation"
)

func TestVersionSaysWhatIsInstalled(t *testing.T) {
	const namespace = "v1/Namespace/" + propagation.SystemNamespace
	for name, tc := range map[string]struct {
		change   func(hub *api)
		says     []string
		saysNone string
	}{
		"who installed Sluice noted which": {
			change: func(hub *api) {
				hub.put(namespace, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"sluice.dev/version": "v9-3-gabcdef0"}}})
			},
			says: []string{"Sluice: v9-3-gabcdef0\n", "Hub:    Kubernetes "},
		},
		"nobody noted it": {
			change:   func(hub *api) { hub.put(namespace, map[string]any{}) },
			says:     []string{"Hub:    Kubernetes "},
			saysNone: "Sluice:",
		},
		"who may not read the namespace is told nothing of it": {
			change: func(hub *api) {
				hub.put(namespace, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"sluice.dev/version": "v9"}}})
				hub.refuse = failing("/namespaces/"+propagation.SystemNamespace, http.StatusForbidden)
			},
			says:     []string{"Hub:    Kubernetes "},
			saysNone: "Sluice:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			tc.change(hub)
			a := run(t, hub, "version")
			a.wants(t, "")
			for _, want := range tc.says {
				if !strings.Contains(a.out, want) {
					t.Errorf("it says\n%swant %q", a.out, want)
				}
			}
			if tc.saysNone != "" && strings.Contains(a.out, tc.saysNone) {
				t.Errorf("it says\n%swant nothing of %q", a.out, tc.saysNone)
			}
		})
	}
}

func TestTheBuildSaysWhichRevisionTheCommandIs(t *testing.T) {
	built = "v9-3-gabcdef0"
	defer func() { built = "" }()
	a := run(t, serve(t, "hub"), "version", "--client")
	a.wants(t, "")
	if want := "Client: v9-3-gabcdef0 ("; !strings.HasPrefix(a.out, want) {
		t.Errorf("it says %q, want %q", a.out, want)
	}
}
