// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var (
	broker       = resource{group: "eventing.knative.dev", version: "v1", kind: "Broker", plural: "brokers"}
	roleGrants   = resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRoleBinding", plural: "clusterrolebindings", clusterScoped: true}
	rolesGranted = resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "RoleBinding", plural: "rolebindings"}
)

// kubectlIn runs against a cluster of the lab.
func (s *scenario) kubectlIn(cluster string, args ...string) string {
	s.Helper()
	out, err := s.lab.program(s.Context(), "kubectl", cluster, args...).CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// gone deletes things of a cluster, also when the test has failed.
func (s *scenario) gone(cluster string, things ...thing) {
	for _, o := range things {
		err := s.lab.clusters[cluster].on(o.resource, o.namespace()).Delete(s.background(), o.name(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.Errorf("clean up %s in %s: %v", o, cluster, err)
		}
	}
}

// withToken writes the cluster's kubeconfig, with a token in place of its user.
func (s *scenario) withToken(cluster, token string) string {
	s.Helper()
	kc, err := clientcmd.LoadFromFile(s.lab.kubeconfig(cluster))
	if err != nil {
		s.Fatal(err)
	}
	kc.AuthInfos[kc.Contexts[kc.CurrentContext].AuthInfo] = &clientcmdapi.AuthInfo{Token: token}
	file := filepath.Join(s.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kc, file); err != nil {
		s.Fatal(err)
	}
	return file
}

// client is one with the credentials of a kubeconfig.
func (s *scenario) client(kubeconfig []byte) dynamic.Interface {
	s.Helper()
	cfg, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		s.Fatal(err)
	}
	cfg.QPS = -1
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// unknown waits until the member does not know the credentials any more. API servers
// believe in a token for some seconds.
func (s *scenario) unknown(client dynamic.Interface) {
	s.Helper()
	s.Eventually(func() error {
		_, err := client.Resource(configMaps.gvr()).Namespace(s.ns).List(s.Context(), metav1.ListOptions{Limit: 1})
		if err == nil {
			return errors.New("the former token is still taken")
		}
		if !apierrors.IsUnauthorized(err) {
			return err
		}
		return nil
	})
}

// knativeIn makes a cluster one that Sluice runs on, as far as join can tell.
func (s *scenario) knativeIn(cluster string) (end func()) {
	s.Helper()
	crd := newThing(crds, "", broker.plural+"."+broker.group).with("spec", map[string]any{
		"group": broker.group, "scope": "Namespaced", "names": map[string]any{"plural": broker.plural, "kind": broker.kind},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	})
	system := newThing(namespaces, "", systemNamespace)
	s.ApplyIn(cluster, crd, system)
	s.Eventually(func() error { return s.apply(s.lab.clusters[cluster], newThing(broker, systemNamespace, "sluice")) })
	return func() { s.gone(cluster, crd, system) }
}

// reader is a client with the credentials that join keeps for the source of member1, in
// the cluster that Sluice runs on.
func (s *scenario) reader(cluster string) dynamic.Interface {
	s.Helper()
	secret, err := s.lab.clusters[cluster].on(secrets, systemNamespace).Get(s.Context(), "member1", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "reader.kubeconfig")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) == 0 {
		s.Fatalf("the Secret has no credentials of a reader: %v", err)
	}
	return s.client(raw)
}

// onlyReads checks that the credentials may read ConfigMaps of a member, and write none.
func (s *scenario) onlyReads(client dynamic.Interface) {
	s.Helper()
	maps := client.Resource(configMaps.gvr()).Namespace(s.ns)
	s.Eventually(func() error { // RBAC takes a moment
		list, err := maps.List(s.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("none are listed")
		}
		return err
	})
	w, err := maps.Watch(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatalf("watch: %v", err)
	}
	if e := <-w.ResultChan(); e.Type != "ADDED" {
		s.Errorf("watched: %v", e)
	}
	w.Stop()
	own := newThing(configMaps, s.ns, "own")
	for verb, do := range map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := maps.Create(ctx, newThing(configMaps, s.ns, "other").object(), metav1.CreateOptions{})
			return err
		},
		"update": func(ctx context.Context) error {
			live := s.LiveIn("member1", own)
			_, err := maps.Update(ctx, live, metav1.UpdateOptions{})
			return err
		},
		"patch": func(ctx context.Context) error {
			_, err := maps.Patch(ctx, own.name(), mergePatch, []byte(`{"data":{"a":"b"}}`), patchOptions)
			return err
		},
		"delete": func(ctx context.Context) error { return maps.Delete(ctx, own.name(), metav1.DeleteOptions{}) },
	} {
		if err := do(s.Context()); !apierrors.IsForbidden(err) {
			s.Errorf("%s is not refused: %v", verb, err)
		}
	}
}

// Where Sluice runs on Knative, which member3 plays here, the source of a member has a
// token that cannot write; the accounts are those of --print-role, or what an
// administrator's credentials make.
func TestZ40TheSourcesTokenCannotWrite(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		member := newThing(namespaces, "", "sluice-member")
		read := []thing{newThing(namespaces, "", "sluice-reader"), newThing(roles, "", "sluice-reader"), newThing(roleGrants, "", "sluice-reader")}
		defer s.gone("member1", append(read, member, newThing(roles, "", "sluice-member"), newThing(roleGrants, "", "sluice-member"))...)
		defer s.knativeIn("member3")()
		defer func() {
			s.gone("hub", newThing(rolesGranted, "karmada-es-member1", "sluice-contents-read"), newThing(rolesGranted, "karmada-es-member1", "sluice-contents-write"))
			if _, err := s.lab.hub.on(clusters, "").Patch(s.background(), "member1", mergePatch, []byte(`{"metadata":{"annotations":{"sluice.dev/reader":null}}}`), patchOptions); err != nil {
				s.Error(err)
			}
		}()
		s.ApplyIn("member1", newThing(namespaces, "", s.ns), newThing(configMaps, s.ns, "own"))
		join := func(file string) dynamic.Interface {
			s.Helper()
			out, err := s.Sluice("join", "member1", "--cluster-kubeconfig", file, "--knative-kubeconfig", s.lab.kubeconfig("member3"))
			if err != nil || !strings.Contains(out, "its source reads with a new token, which cannot write") {
				s.Fatalf("join: %v\n%s", err, out)
			}
			return s.reader("member3")
		}

		printed, err := s.Sluice("join", "--print-role")
		if err != nil {
			s.Fatal(err)
		}
		file := filepath.Join(s.TempDir(), "role.yaml")
		if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
			s.Fatal(err)
		}
		s.kubectlIn("member1", "apply", "-f", file)
		least := s.withToken("member1", s.kubectlIn("member1", "create", "token", "sluice-member", "-n", "sluice-member"))
		first := join(least)
		s.onlyReads(first)
		second := join(least)
		s.onlyReads(second)
		s.unknown(first)

		s.gone("member1", read...)
		s.Eventually(func() error {
			_, err := s.lab.clusters["member1"].on(namespaces, "").Get(s.Context(), "sluice-reader", metav1.GetOptions{})
			if err == nil {
				return errors.New("the namespace is still there")
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		})
		s.onlyReads(join(s.lab.kubeconfig("member1")))
	})
}

// A token takes the place of another one, which then ends: what is placed goes on.
func TestZ40AnotherTokenTakesOver(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		account := newThing(accounts, s.ns, "sluice")
		grant := newThing(roleGrants, "", s.ns).with("roleRef", map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}).
			with("subjects", []any{map[string]any{"kind": "ServiceAccount", "name": "sluice", "namespace": s.ns}})
		former, next := newThing(secrets, s.ns, "former"), newThing(secrets, s.ns, "next")
		s.ApplyIn("member1", newThing(namespaces, "", s.ns), account, grant, former, next)
		defer s.gone("member1", grant)
		join := func(file string) {
			s.Helper()
			if out, err := s.lab.program(s.background(), "kubectl-sluice", "hub", "join", "member1", "--cluster-kubeconfig", file).CombinedOutput(); err != nil {
				s.Errorf("join: %v\n%s", err, out)
			}
		}
		defer join(s.lab.kubeconfig("member1"))
		token := func(bound thing) string {
			s.Helper()
			return s.withToken("member1", s.kubectlIn("member1", "create", "token", "sluice", "-n", s.ns, "--bound-object-kind", "Secret", "--bound-object-name", bound.name()))
		}
		nginx := s.Deployment("nginx")
		one, two := token(former), token(next)
		join(one)
		s.Apply(s.Policy("pp").To("member1"), nginx)
		s.Expect(nginx).In("member1")
		join(two)
		s.gone("member1", former)
		raw, err := os.ReadFile(one) //nolint:gosec // own file
		if err != nil {
			s.Fatal(err)
		}
		s.unknown(s.client(raw))
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1").Binding(isCondition("FullyApplied", "True"))
		s.Eventually(func() error { return s.lab.joined(s.Context()) })
	})
}
