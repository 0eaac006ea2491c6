// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/propagation"
)

// annotationVersion on the namespace sluice-system is the version of Sluice that was
// last installed there. tools/ko/apply.sh writes it.
const annotationVersion = "sluice.dev/version"

// built is the version that this command was built from, as git describes it. The
// Makefile makes the linker set it; otherwise it is empty.
var built string

// versions is the output of the command.
type versions struct {
	Client clientVersion `json:"client"`
	Hub    *hubVersion   `json:"hub,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

type hubVersion struct {
	Version  string `json:"version"`
	Endpoint string `json:"endpoint"`
	// Sluice is the version of Sluice that was installed; empty if that is not
	// recorded.
	Sluice string `json:"sluice,omitempty"`
	// Gates lists the invalid keys and values of the feature gates, which hold changes
	// back.
	Gates []string `json:"gates,omitempty"`
}

func versionCommand(s *session) *cobra.Command {
	var (
		out        output
		clientOnly bool
	)
	cmd := &cobra.Command{
		Use: "version", Short: "Show the versions of this command, of Sluice and of the hub's API server", Args: noArgs,
		Long: `Show the versions of this command, of Sluice as "make apply" recorded it on the
hub's namespace sluice-system, and of the hub's API server; and which keys and
values of the feature gates are invalid.`,
		Example: examples(`
			kubectl sluice version
			kubectl sluice version --client -o json`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{Client: ownVersion()}
			var hubErr error
			if !clientOnly {
				v.Hub, hubErr = s.hubVersion(cmd.Context())
			}
			if err := s.showVersions(v, &out); err != nil {
				return err
			}
			return hubErr
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the hub")
	out.addTo(cmd, formatJSON, formatYAML)
	return cmd
}

func (s *session) showVersions(v versions, out *output) error {
	if out.forMachines() {
		return s.screen.Encode(out.format, v)
	}
	s.screen.Printf("Client: %s (%s, %s)\n", v.Client.Version, v.Client.Go, v.Client.Platform)
	if v.Hub != nil {
		s.screen.Printf("Hub:    Kubernetes %s at %s\n", v.Hub.Version, v.Hub.Endpoint)
		if v.Hub.Sluice != "" {
			s.screen.Printf("Sluice: %s\n", v.Hub.Sluice)
		}
		for _, unknown := range v.Hub.Gates {
			s.screen.Printf("Gates:  not understood: %s\n", unknown)
		}
	}
	return nil
}

// ownVersion returns what the build recorded.
func ownVersion() clientVersion {
	v := clientVersion{Version: cmp.Or(built, "(devel)"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(built, info.Main.Version, v.Version)
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			v.Revision = setting.Value
		}
	}
	return v
}

func (s *session) hubVersion(ctx context.Context) (*hubVersion, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	kube, err := s.kube()
	if err != nil {
		return nil, err
	}
	v, err := kube.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the hub for its version: %w", err)
	}
	is := &hubVersion{Version: v.GitVersion, Endpoint: c.Host}
	// Without permission to read these, they are left out.
	if ns, err := kube.CoreV1().Namespaces().Get(ctx, propagation.SystemNamespace, metav1.GetOptions{}); err == nil {
		is.Sluice = ns.Annotations[annotationVersion]
	}
	if h, err := s.hub(); err == nil {
		if _, unknown, err := h.FeaturesTold(ctx); err == nil {
			is.Gates = unknown
		}
	}
	return is, nil
}
