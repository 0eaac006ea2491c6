// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests that `ko apply -R -f config/` applies, for
// the programs that need them: standalone routes its events with the very
// Triggers of 600-eventing.
//
// Invariants:
//   - What is embedded is what is applied, byte for byte.
//   - A filter names only types of apis/events/v1, a subscriber only a stage.
//
// It must not hold any manifest in Go, nor import anything of Sluice outside
// tests.
package config

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"
	"sigs.k8s.io/yaml"
)

// Eventing holds the folder 600-eventing: Broker, Triggers and sources.
//
//go:embed 600-eventing
var Eventing embed.FS

//go:embed 600-eventing/source-members.yaml.tmpl
var membersSource []byte

//go:embed 200-rbac/member.yaml.tmpl
var memberAccess []byte

//go:embed 200-rbac/contents.yaml.tmpl
var contentsAccess []byte

// sourceConfig is the variable that tells Knative's adapter what to watch.
const sourceConfig = "K_SOURCE_CONFIG"

// MembersSource makes a source of members' events, the one of that number, of no member
// yet: image is that of functions/source, watching its K_SOURCE_CONFIG.
func MembersSource(number int, image, watching string) (sourcesv1.ContainerSource, error) {
	var s sourcesv1.ContainerSource
	if strings.ContainsAny(image, " \t\r\n#'\"") || image == "" {
		return s, fmt.Errorf("source of members: %q is no image", image)
	}
	manifest := bytes.ReplaceAll(membersSource, []byte("NUMBER"), []byte(strconv.Itoa(number)))
	manifest = bytes.ReplaceAll(manifest, []byte("IMAGE"), []byte(image))
	if err := yaml.UnmarshalStrict(manifest, &s); err != nil {
		return s, fmt.Errorf("source of members: %w", err)
	}
	env := s.Spec.Template.Spec.Containers[0].Env
	for i := range env {
		if env[i].Name == sourceConfig {
			env[i].Value = watching
		}
	}
	return s, nil
}

// MemberAccess makes what lets those functions that talk to members, and nobody
// else, read the credentials of one.
func MemberAccess(cluster string) (rbacv1.Role, rbacv1.RoleBinding, error) {
	var (
		role    rbacv1.Role
		binding rbacv1.RoleBinding
	)
	first, second, _ := bytes.Cut(memberAccess, []byte("\n---\n"))
	if err := errors.Join(fill(first, cluster, &role), fill(second, cluster, &binding)); err != nil {
		return role, binding, fmt.Errorf("access to %q: %w", cluster, err)
	}
	return role, binding, nil
}

// ContentsAccess makes what lets the renderer write, and those that need it read,
// what the Secrets hold that the Works of one member carry.
func ContentsAccess(cluster string) (write, read rbacv1.RoleBinding, err error) {
	first, second, _ := bytes.Cut(contentsAccess, []byte("\n---\n"))
	if err := errors.Join(fill(first, cluster, &write), fill(second, cluster, &read)); err != nil {
		return write, read, fmt.Errorf("access to the contents of %q: %w", cluster, err)
	}
	return write, read, nil
}

// fill reads a manifest with the name of a cluster, which is none that YAML takes
// for anything else.
func fill(manifest []byte, cluster string, into any) error {
	if errs := validation.IsDNS1123Label(cluster); len(errs) > 0 {
		return errors.New(strings.Join(errs, "; "))
	}
	manifest = bytes.ReplaceAll(manifest, []byte("CLUSTER"), []byte(strconv.Quote(cluster)))
	manifest = bytes.ReplaceAll(manifest, []byte("-"+strconv.Quote(cluster)), []byte("-"+cluster))
	return yaml.UnmarshalStrict(manifest, into)
}
