// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// lab is the hub and the members that the run has for itself.
type lab struct {
	bin  string
	dir  string
	kept bool // it stays when the run ends
	hub  *cluster
	// members are those that templates go to, spare are others that have joined.
	members []*cluster
	spare   []*cluster
	// simulated is the process of the members that are; nil: they are real.
	simulated *exec.Cmd
}

// all are the hub and all members that have joined.
func (l *lab) all() []*cluster { return slices.Concat([]*cluster{l.hub}, l.members, l.spare) }

// startLab starts the clusters and gives the hub the CRDs and the members.
func startLab(ctx context.Context, o options) (*lab, error) {
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	l := &lab{bin: bin, dir: o.dir, kept: o.dir != ""}
	if !l.kept {
		if l.dir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
			return nil, err
		}
	}
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return nil, err
	}
	say("starting a hub and %d members in %s", o.members, l.dir)
	servers := o.members
	if o.simulated {
		servers = 0
	}
	if err := l.command(ctx, "up", "--members", fmt.Sprint(servers), "--audit", "--kube", filepath.Join(bin, "kube")); err != nil {
		l.end(context.WithoutCancel(ctx))
		return nil, err
	}
	if o.simulated { // the lab begins with an empty folder
		if err := l.simulate(o.members); err != nil {
			l.end(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	if err := l.connect(o.members); err != nil {
		l.end(context.WithoutCancel(ctx))
		return nil, err
	}
	if err := l.install(ctx); err != nil {
		l.end(context.WithoutCancel(ctx))
		return nil, err
	}
	return l, nil
}

func (l *lab) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(l.bin, "lab"), append(args, "--dir", l.dir)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("lab %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// end ends the clusters, and forgets them unless they were to stay.
func (l *lab) end(ctx context.Context) {
	l.endSimulated()
	err := l.command(ctx, "down")
	if err == nil && !l.kept {
		err = os.RemoveAll(l.dir)
	}
	if err != nil {
		say("%v", err)
	}
}

func (l *lab) connect(members int) error {
	var err error
	if l.hub, err = connect(l.dir, "hub"); err != nil {
		return err
	}
	for i := range members {
		m, err := connect(l.dir, fmt.Sprintf("member%d", i+1))
		if err != nil {
			return err
		}
		l.members = append(l.members, m)
	}
	return nil
}

// install gives the hub what every installation has.
func (l *lab) install(ctx context.Context) error {
	files, err := filepath.Glob("config/300-crds/*.yaml")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("no CRDs in config/300-crds: run it from the root of the repository")
	}
	for _, file := range files {
		if err := l.define(ctx, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := l.hub.namespace(ctx, "sluice-system"); err != nil {
		return err
	}
	return l.features(ctx)
}

// features gives the hub the gates as they are by default: without them nobody knows, and
// policies wait.
func (l *lab) features(ctx context.Context) error {
	raw, err := os.ReadFile("config/400-config/features.yaml")
	if err != nil {
		return err
	}
	body, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return err
	}
	_, err = l.hub.apply(ctx, "/api/v1/namespaces/sluice-system/configmaps/config-features", body)
	return err
}

// joinAll joins the members that templates go to.
func (l *lab) joinAll(ctx context.Context) error {
	for _, m := range l.members {
		if err := l.join(ctx, m); err != nil {
			return fmt.Errorf("join %s: %w", m.name, err)
		}
	}
	return nil
}

// define applies a CRD and waits until it is served.
func (l *lab) define(ctx context.Context, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	body, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return err
	}
	var crd struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &crd); err != nil {
		return err
	}
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + crd.Metadata.Name
	if _, err := l.hub.apply(ctx, path, body); err != nil {
		return err
	}
	served := "/apis/" + crd.Spec.Group + "/" + crd.Spec.Versions[0].Name + "/" + crd.Spec.Names.Plural
	return await(ctx, time.Minute, served+" is served", func() bool {
		_, err := l.hub.get(ctx, served)
		return err == nil
	})
}

func (l *lab) join(ctx context.Context, m *cluster) error {
	kubeconfig, err := os.ReadFile(cmp.Or(m.relayed, m.kubeconfig))
	if err != nil {
		return err
	}
	secret := encoded(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": m.name},
		"data": map[string]any{"kubeconfig": base64.StdEncoding.EncodeToString(kubeconfig)},
	})
	if _, err := l.hub.apply(ctx, "/api/v1/namespaces/sluice-system/secrets/"+m.name, secret); err != nil {
		return err
	}
	cluster := encoded(map[string]any{
		"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": m.name},
		"spec": map[string]any{"syncMode": "Push", "secretRef": map[string]any{"namespace": "sluice-system", "name": m.name}},
	})
	_, err = l.hub.apply(ctx, "/apis/cluster.karmada.io/v1alpha1/clusters/"+m.name, cluster)
	return err
}

// joined waits until every member is ready and its namespace is on the hub.
func (l *lab) joined(ctx context.Context) error {
	for _, m := range l.members {
		err := await(ctx, time.Minute, m.name+" is ready", func() bool {
			raw, err := l.hub.get(ctx, "/apis/cluster.karmada.io/v1alpha1/clusters/"+m.name)
			if err != nil || conditionOf(raw, "Ready") != "True" {
				return false
			}
			_, err = l.hub.get(ctx, "/api/v1/namespaces/karmada-es-"+m.name)
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// namespaces makes a namespace on the hub and on all members.
func (l *lab) namespaces(ctx context.Context, name string) error {
	for _, c := range l.all() {
		if err := c.namespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
