// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recording is a stage's telling people of something, by an event of Kubernetes.
var recording = regexp.MustCompile(`\.Record\(ctx, (hub\.)?[aA]bout`)

// What nobody may write is dropped without a word: the account of a stage that tells
// people something has to have the right to.
func TestZ12WhoRecordsEventsMay(t *testing.T) {
	rights, err := os.ReadFile("testdata/rights.txt")
	if err != nil {
		t.Fatal(err)
	}
	const stages = "../pkg/pipeline"
	record := map[string]bool{}
	err = filepath.WalkDir(stages, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a file of this repository
		if err == nil && recording.Match(text) {
			rest, _ := filepath.Rel(stages, path)
			stage, _, _ := strings.Cut(filepath.ToSlash(rest), "/")
			record[stage] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !record["scheduler"] || !record["sweeper"] || len(record) < 8 {
		t.Fatalf("only %v are known to record", record)
	}
	for stage := range record {
		if !regexp.MustCompile(`(?m)^` + stage + ` +everywhere +events +create patch$`).Match(rights) {
			t.Errorf("%s records events, and has no right to", stage)
		}
	}
}
