// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata/rights.txt")

// document is one object of a manifest: what is looked at of all kinds.
type document struct {
	file            string
	raw             []byte
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
}

func (d document) into(t *testing.T, o any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(d.raw, o); err != nil {
		t.Fatalf("%s: %v", d.file, err)
	}
}

// documents are all objects that are applied.
func documents(t *testing.T) (all []document) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || strings.HasPrefix(path, "300-crds") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, raw := range bytes.Split(text, []byte("\n---\n")) {
			d := document{file: path, raw: raw}
			if err := yaml.Unmarshal(raw, &d); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// deployed are the functions that run on a cluster, each under an account of its
// name.
func deployed(t *testing.T) (names []string) {
	t.Helper()
	folders, err := os.ReadDir("../functions")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && f.Name() != "standalone" {
			names = append(names, f.Name())
		}
	}
	return names
}

// service is a Knative Service, as far as it is looked at; its API is not among
// what Sluice is built of.
type service struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct {
				corev1.PodSpec       `json:",inline"`
				ContainerConcurrency int64 `json:"containerConcurrency"`
				TimeoutSeconds       int64 `json:"timeoutSeconds"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

func TestEachFunctionIsDeployedOnce(t *testing.T) {
	pods := map[string]corev1.PodSpec{}
	for _, d := range documents(t) {
		switch {
		case d.Kind == "Service" && strings.HasPrefix(d.APIVersion, "serving.knative.dev/"):
			var s service
			d.into(t, &s)
			pods[s.Name] = s.Spec.Template.Spec.PodSpec
			checkService(t, d.file, s)
		case d.Kind == "Deployment" && d.Metadata.Name == "webhook":
			var o appsv1.Deployment
			d.into(t, &o)
			pods[o.Name] = o.Spec.Template.Spec
		case d.Kind == "ContainerSource":
			var o sourcesv1.ContainerSource
			d.into(t, &o)
			pods["source"] = o.Spec.Template.Spec
		}
	}
	for _, name := range deployed(t) {
		pod, ok := pods[name]
		delete(pods, name)
		if !ok {
			t.Errorf("functions/%s: no manifest deploys it", name)
			continue
		}
		c := pod.Containers[0]
		if want := "ko://sluice.dev/functions/" + name; c.Image != want || pod.ServiceAccountName != name {
			t.Errorf("%s: image %s under account %q, want %s under its own", name, c.Image, pod.ServiceAccountName, want)
		}
		if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || len(s.Capabilities.Drop) != 1 {
			t.Errorf("%s: security context %+v, want no privileges and a read-only root file system", name, s)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: resources %+v, want requests, and a limit of memory", name, c.Resources)
		}
	}
	for name := range pods {
		t.Errorf("%s is deployed, and is no folder of functions/", name)
	}
}

// hot are the functions that every template passes through.
var hot = []string{"applier", "detector", "gate", "renderer", "reporter", "scheduler", "sweeper"}

func checkService(t *testing.T, file string, s service) {
	t.Helper()
	if want := "500-functions/" + s.Name + ".yaml"; file != want {
		t.Errorf("%s is in %s, want %s", s.Name, file, want)
	}
	spec := s.Spec.Template.Spec
	if sc := spec.Containers[0].SecurityContext; sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot {
		t.Errorf("%s: may run as root", s.Name)
	}
	if spec.ContainerConcurrency == 0 || spec.ContainerConcurrency > 64 || spec.TimeoutSeconds != 120 {
		t.Errorf("%s: containerConcurrency %d and timeoutSeconds %d, want at most pkg/function's 64 and its Timeout", s.Name, spec.ContainerConcurrency, spec.TimeoutSeconds)
	}
	least, most := s.Spec.Template.Annotations["autoscaling.knative.dev/min-scale"], s.Spec.Template.Annotations["autoscaling.knative.dev/max-scale"]
	if want := map[bool]string{true: "1", false: "0"}[slices.Contains(hot, s.Name)]; least != want || most == "" {
		t.Errorf("%s: from %q to %q replicas, want from %s, and a bound", s.Name, least, most, want)
	}
	if s.Labels["networking.knative.dev/visibility"] != "cluster-local" {
		t.Errorf("%s: can be reached from outside of the cluster", s.Name)
	}
}

// right is one line of the table: what an account may do where.
type right struct{ account, where, resource, verbs string }

func (r right) String() string {
	return fmt.Sprintf("%-12s %-13s %-60s %s", r.account, r.where, r.resource, r.verbs)
}

// rights are what each account may do, with the roles that it is bound to.
func rights(t *testing.T) (all []right) {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	var bindings []rbacv1.ClusterRoleBinding
	for _, d := range documents(t) {
		switch d.Kind {
		case "Role", "ClusterRole":
			var r rbacv1.ClusterRole
			d.into(t, &r)
			rules[d.Kind+"/"+r.Name] = append(rules[d.Kind+"/"+r.Name], r.Rules...)
			for label := range r.Labels { // what an aggregated role collects
				if name, ok := strings.CutPrefix(label, "sluice.dev/aggregate-to-"); ok {
					rules["ClusterRole/sluice-"+name] = append(rules["ClusterRole/sluice-"+name], r.Rules...)
				}
			}
		case "RoleBinding", "ClusterRoleBinding":
			var b rbacv1.ClusterRoleBinding
			d.into(t, &b)
			bindings = append(bindings, b)
		}
	}
	// What a join makes, for a member of that name.
	role, binding, err := MemberAccess("member1")
	if err != nil {
		t.Fatal(err)
	}
	rules["Role/"+role.Name] = role.Rules
	bindings = append(bindings, rbacv1.ClusterRoleBinding(binding))
	write, read, err := ContentsAccess("member1")
	if err != nil {
		t.Fatal(err)
	}
	bindings = append(bindings, rbacv1.ClusterRoleBinding(write), rbacv1.ClusterRoleBinding(read))
	for _, b := range bindings {
		where := "everywhere"
		if b.Kind == "RoleBinding" {
			where = b.Namespace
		}
		role := rules[b.RoleRef.Kind+"/"+b.RoleRef.Name]
		if len(role) == 0 {
			t.Errorf("%s %s: %s %s has no rules", b.Kind, b.Name, b.RoleRef.Kind, b.RoleRef.Name)
		}
		for _, rule := range role {
			for _, s := range b.Subjects {
				all = append(all, flatten(s.Name, where, rule)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b right) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func flatten(account, where string, rule rbacv1.PolicyRule) (flat []right) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if group != "" {
				resource += "." + group
			}
			for _, name := range rule.ResourceNames {
				resource += " " + name
			}
			flat = append(flat, right{account, where, resource, strings.Join(rule.Verbs, " ")})
		}
	}
	return flat
}

// TestNobodyMayDoMoreThanTheTableSays: whoever asks for more changes the table,
// and says so in the commit.
func TestNobodyMayDoMoreThanTheTableSays(t *testing.T) {
	var table strings.Builder
	table.WriteString("# What each function may do on the hub: account, where, resource (and its names), verbs.\n# member1 stands for each member that joined.\n")
	for _, r := range rights(t) {
		table.WriteString(r.String() + "\n")
	}
	const file = "testdata/rights.txt"
	if *update {
		if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), table.String()); d != "" {
		t.Errorf("rights are not those of %s, which go test ./config -update writes (-table +manifests)\n%s", file, d)
	}
}

// credentials are the functions that talk to members.
var credentials = []string{"applier", "reporter", "sweeper"}

func TestRightsHaveBounds(t *testing.T) {
	accounts := deployed(t)
	for _, r := range rights(t) {
		if !slices.Contains(accounts, r.account) {
			t.Errorf("%s: is no function", r)
		}
		if strings.Contains(r.resource+r.verbs, "*") {
			t.Errorf("%s: everything is too much", r)
		}
		// What is kept beside a member's Works is no credentials.
		if r.where == "karmada-es-member1" {
			if want, ok := map[string]string{"renderer": "get create update delete", "applier": "get", "sweeper": "get"}[r.account]; !ok || r.resource != "secrets" || r.verbs != want {
				t.Errorf("%s: only the renderer writes what is kept beside Works", r)
			}
			continue
		}
		secrets := strings.HasPrefix(r.resource, "secrets")
		switch {
		case secrets && r.where == "everywhere":
			t.Errorf("%s: the members' credentials are Secrets", r)
		case secrets && r.account != "webhook" && (r.verbs != "get" || !slices.Contains(credentials, r.account)):
			t.Errorf("%s: only %v talk to members", r, credentials)
		case secrets && r.account != "webhook" && r.resource != "secrets member1":
			t.Errorf("%s: credentials are granted one by one, when a member joins", r)
		case strings.HasPrefix(r.resource, "deployments.") && r.verbs == "patch" && r.account != "detector" && r.account != "preemptor":
			t.Errorf("%s: only who claims writes to templates", r)
		case strings.HasPrefix(r.resource, "works.") && strings.Contains(r.verbs, "create") && r.account != "renderer":
			t.Errorf("%s: only the renderer makes Works", r)
		}
	}
}

func TestEachAccountExists(t *testing.T) {
	found := map[string]bool{}
	for _, d := range documents(t) {
		if d.Kind == "ServiceAccount" {
			found[d.Metadata.Name] = true
		}
		if ns := d.Metadata.Namespace; ns != "" && ns != "sluice-system" {
			t.Errorf("%s: %s %s is in namespace %s", d.file, d.Kind, d.Metadata.Name, ns)
		}
	}
	for _, name := range append(deployed(t), "source") {
		if !found[name] {
			t.Errorf("there is no ServiceAccount %s", name)
		}
	}
}
