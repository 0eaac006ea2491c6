// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
)

const (
	crdPatience  = 30 * time.Second // for the API server to serve a CRD
	joinPatience = 60 * time.Second // for joined members to be ready
)

//go:embed minimal.yaml
var minimal []byte

// prepareHub brings the hub what every installation has: namespace, CRDs and
// configuration.
func (s *session) prepareHub(ctx context.Context) error {
	crds, err := manifests(filepath.Join(s.source, "config", "300-crds"))
	if err != nil {
		return err
	}
	if len(crds) == 0 {
		return fmt.Errorf("no CRDs in %s: is --source the repository?", filepath.Join(s.source, "config", "300-crds"))
	}
	settings, err := s.settings()
	if err != nil {
		return err
	}
	if err := s.hub.apply(ctx, crds); err != nil {
		return err
	}
	if err := s.hub.apply(ctx, settings); err != nil {
		return err
	}
	for _, crd := range crds {
		if err := s.hub.established(ctx, crd); err != nil {
			return err
		}
	}
	s.hub.mapper.Reset()
	s.out.say("the hub has %d CRDs and its configuration", len(crds))
	return nil
}

// settings are namespace and configuration.
func (s *session) settings() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range []string{"100-namespace", "400-config"} {
		dir := filepath.Join(s.source, "config", name)
		if missing(dir) {
			return decode(bytes.NewReader(minimal))
		}
		objects, err := manifests(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// established waits until the API server serves what a CRD defines.
func (c *cluster) established(ctx context.Context, crd *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, crdPatience)
	defer cancel()
	r, err := c.resource(crd)
	if err != nil {
		return err
	}
	why := ""
	err = wait(ctx, func() bool {
		o, err := r.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			why = err.Error()
			return false
		}
		var status string
		status, why = condition(o, "Established")
		return status == "True"
	})
	if err != nil {
		return fmt.Errorf("%w, while %s was not established: %s", err, title(crd), why)
	}
	return nil
}

// joinMembers joins all at the same time and returns when they are ready.
func (s *session) joinMembers(ctx context.Context) error {
	path, err := binary(s.bin, "kubectl-sluice")
	if err != nil {
		return err
	}
	errs := make([]error, len(s.members))
	var wg sync.WaitGroup
	for i, m := range s.members {
		wg.Go(func() { errs[i] = s.join(ctx, path, m) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.awaitClusters(ctx)
}

func (s *session) join(ctx context.Context, path string, m *cluster) error {
	log := s.dir.log("join-" + m.name)
	c, err := spawn("join "+m.name, log, nil, syscall.SIGKILL, path,
		"join", m.name, "--kubeconfig", s.hub.kubeconfig, "--cluster-kubeconfig", m.kubeconfig)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		c.end(time.Second)
		return context.Cause(ctx)
	}
	if c.err != nil {
		return fmt.Errorf("%s: %s:\n%s", c.name, c.how(), tail(log))
	}
	s.out.say("%s: joined", m.name)
	return nil
}

// awaitClusters waits until each Cluster is Ready.
func (s *session) awaitClusters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	gvr := clusterv1alpha1.SchemeGroupVersion.WithResource(clusterv1alpha1.ResourceClusters)
	var lacking []string
	err := wait(ctx, func() bool {
		clusters, err := s.hub.list(ctx, gvr, "")
		if err != nil {
			lacking = []string{err.Error()}
			return false
		}
		lacking = s.unready(clusters)
		return len(lacking) == 0
	})
	if err != nil {
		return fmt.Errorf("%w, while these were not ready: %s", err, strings.Join(lacking, "; "))
	}
	s.out.say("all members are ready")
	return nil
}

// unready says which members are not, and why.
func (s *session) unready(clusters []unstructured.Unstructured) (lacking []string) {
	seen := map[string]string{}
	for _, c := range clusters {
		status, why := condition(&c, clusterv1alpha1.ConditionReady)
		if status == "True" {
			why = ""
		}
		seen[c.GetName()] = why
	}
	for _, m := range s.members {
		if why, ok := seen[m.name]; !ok {
			lacking = append(lacking, m.name+" (no Cluster object)")
		} else if why != "" {
			lacking = append(lacking, m.name+" ("+why+")")
		}
	}
	return lacking
}

// kubectl is how a user calls it here.
func (s *session) kubectl() string {
	if _, err := exec.LookPath("kubectl"); err == nil {
		return "kubectl"
	}
	if path, err := binary(s.bin, "kubectl"); err == nil {
		return relative(path)
	}
	return "kubectl"
}
