// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	_ "net/http/pprof" // serves the profiles
	"os"
	"path/filepath"

	"sluice.dev/pkg/standalone"
)

// profiledChild has this program run the pipeline: what follows are the address
// of its profiles, and the pipeline's own arguments.
const profiledChild = "profiled-standalone"

func runProfiled(args []string) {
	go func() {
		if err := http.ListenAndServe(args[0], nil); err != nil {
			fmt.Fprintln(os.Stderr, "profiles:", err)
		}
	}()
	os.Args = append([]string{"standalone"}, args[1:]...)
	standalone.Main()
}

// profiled measures f, and writes a CPU profile of the pipeline meanwhile if
// there is to be one, and one of its memory after that. The first may end before f does.
func (b *bench) profiled(ctx context.Context, name string, seconds int, f func() error) error {
	if b.profile == "" {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		done <- b.pipeline.save(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), filepath.Join(b.profile, name+".cpu"))
	}()
	err := f()
	if saved := <-done; err == nil {
		err = saved
	}
	if err != nil {
		return err
	}
	return b.pipeline.save(ctx, "/debug/pprof/heap", filepath.Join(b.profile, name+".heap"))
}

// save writes a profile to a file.
func (p *pipeline) save(ctx context.Context, path, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.debug+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer resp.Body.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := out.ReadFrom(resp.Body); err != nil {
		_ = out.Close()
		return fmt.Errorf("profile: %w", err)
	}
	return out.Close()
}
