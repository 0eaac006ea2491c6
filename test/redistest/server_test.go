// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package redistest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
)

// aptGet fails where another one is under way, as the real one's update does.
const aptGet = `#!/bin/sh
mkdir "$TMPDIR/busy" || exit 100
sleep 0.02
case "$*" in *install*)
  echo "$*" >>"$TMPDIR/installed"
  cp "$0" "$(dirname "$0")/redis-server"
esac
rmdir "$TMPDIR/busy"
`

func TestOneOfManyInstallsRedis(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root installs anything")
	}
	bin, tmp := t.TempDir(), t.TempDir()
	for _, name := range []string{"mkdir", "sleep", "cp", "dirname", "rmdir"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte(aptGet), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", tmp)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			_, err := lookOrInstall()
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	installed, err := os.ReadFile(filepath.Join(tmp, "installed"))
	if want := "-q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends redis-server\n"; err != nil || string(installed) != want {
		t.Fatalf("installed %q, %v, want %q", installed, err, want)
	}
}
