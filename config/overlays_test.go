// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/kmeta"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	eventingv1alpha1 "knative.dev/eventing/pkg/apis/eventing/v1alpha1"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"
)

// rendered is what has been rendered, by its overlays.
var rendered = map[string][]document{}

// render is what config/ becomes with overlays, in the order in which
// tools/ko/apply.sh has it applied.
func render(t *testing.T, overlays ...string) []document {
	t.Helper()
	name := strings.Join(overlays, " ")
	if all, ok := rendered[name]; ok {
		return slices.Clone(all)
	}
	from := "."
	if len(overlays) > 0 {
		from = "../_output/overlay"
		tokens := map[bool]string{true: "enabled"}[strings.Contains(name, "oidc")] // where they are, oidc comes by itself
		if _, out, err := apply(t, "OVERLAYS="+name, "TOKENS="+tokens); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	as := krusty.MakeDefaultOptions()
	as.Reorder = krusty.ReorderOptionUnspecified // as kubectl has it
	made, err := krusty.MakeKustomizer(as).Run(filesys.MakeFsOnDisk(), from)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	var all []document
	for _, part := range bytes.Split(raw, []byte("\n---\n")) {
		d := document{file: name, raw: bytes.TrimSpace(part)}
		if err := yaml.Unmarshal(part, &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind != "CustomResourceDefinition" {
			all = append(all, d)
		}
	}
	rendered[name] = all
	return slices.Clone(all)
}

func (d document) id() string { return d.Kind + " " + d.Metadata.Name }

func find(t *testing.T, all []document, id string) document {
	t.Helper()
	i := slices.IndexFunc(all, func(d document) bool { return d.id() == id })
	if i < 0 {
		t.Fatalf("there is no %s", id)
	}
	return all[i]
}

func TestTheBaseOfOverlaysIsAllOfConfig(t *testing.T) {
	var files []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("Kustomization")
	if err != nil {
		t.Fatal(err)
	}
	var base struct{ Resources []string }
	if err := yaml.Unmarshal(raw, &base); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(files, base.Resources); d != "" {
		t.Errorf("config/Kustomization does not list what ko apply -R -f config/ applies (-applied +listed)\n%s", d)
	}
}

func TestWhatAnOverlayAddsAndTakesAway(t *testing.T) {
	base := map[string]document{}
	for _, d := range render(t) {
		base[d.id()] = d
	}
	named := func(kind string) (ids []string) {
		for id := range base {
			if strings.HasPrefix(id, kind+" ") {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return ids
	}
	ofTheHub := slices.Concat([]string{"ApiServerSource templates"}, named("ClusterRole"), named("ClusterRoleBinding"),
		[]string{"ConfigMap config-features", "MutatingWebhookConfiguration sluice", "ValidatingWebhookConfiguration sluice"})
	tests := map[string]struct {
		overlays    []string
		wantMore    []string
		wantLess    []string
		wantChanged []string // kinds that may differ
	}{
		"a Redis of one's own comes without the small one": {
			overlays:    []string{"redis-external"},
			wantLess:    []string{"Deployment redis", "NetworkPolicy redis", "Service redis"},
			wantChanged: []string{"Secret"},
		},
		"Kafka is another class of Broker, and nothing else": {
			overlays:    []string{"kafka"},
			wantMore:    []string{"ConfigMap kafka-broker-config"},
			wantLess:    []string{"InMemoryChannel sluice-kne-trigger"},
			wantChanged: []string{"Broker", "Trigger"},
		},
		"another server is the hub: what it has is not here": {
			overlays:    []string{"hub-kubeconfig"},
			wantMore:    []string{"ContainerSource templates"},
			wantLess:    ofTheHub,
			wantChanged: []string{"ConfigMap", "ContainerSource", "Deployment", "Service"},
		},
		"locked adds network policies, and changes nothing": {
			overlays: []string{"locked"},
			wantMore: []string{"NetworkPolicy functions", "NetworkPolicy sources", "NetworkPolicy webhook"},
		},
		"tokens: who may publish, and what is verified": {
			overlays:    []string{"oidc"},
			wantMore:    []string{"EventPolicy sluice"},
			wantChanged: []string{"ConfigMap", "ServiceAccount"},
		},
		"another hub, and tokens of this cluster": {
			overlays:    []string{"hub-kubeconfig", "oidc"},
			wantMore:    []string{"ContainerSource templates", "EventPolicy sluice"},
			wantLess:    ofTheHub,
			wantChanged: []string{"ConfigMap", "ContainerSource", "Deployment", "Service", "ServiceAccount"},
		},
		"overlays go together": {
			overlays:    []string{"kafka", "redis-external"},
			wantMore:    []string{"ConfigMap kafka-broker-config"},
			wantLess:    []string{"Deployment redis", "InMemoryChannel sluice-kne-trigger", "NetworkPolicy redis", "Service redis"},
			wantChanged: []string{"Broker", "Secret", "Trigger"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var more, less, changed []string
			is := map[string]bool{}
			for _, d := range render(t, tc.overlays...) {
				is[d.id()] = true
				was, ok := base[d.id()]
				switch {
				case !ok:
					more = append(more, d.id())
				case !bytes.Equal(was.raw, d.raw) && !slices.Contains(changed, d.Kind):
					changed = append(changed, d.Kind)
				}
				validate(t, d)
			}
			for id := range base {
				if !is[id] {
					less = append(less, id)
				}
			}
			slices.Sort(more)
			slices.Sort(less)
			slices.Sort(changed)
			if d := cmp.Diff([][]string{tc.wantMore, tc.wantLess, tc.wantChanged}, [][]string{more, less, changed}); d != "" {
				t.Errorf("more, less, changed kinds (-want +got)\n%s", d)
			}
		})
	}
}

// A Broker that finds no channel makes one, which answers only when everybody has
// (broker-channel.yaml): what comes too late has no effect any more.
func TestTheChannelIsThereBeforeItsBroker(t *testing.T) {
	for _, overlays := range []string{"locked", "oidc", "redis-external", "hub-kubeconfig", "hub-kubeconfig oidc locked"} {
		var ids []string
		for _, d := range render(t, strings.Fields(overlays)...) {
			ids = append(ids, d.id())
		}
		channel, broker := slices.Index(ids, "InMemoryChannel sluice-kne-trigger"), slices.Index(ids, "Broker sluice")
		if channel < 0 || broker < channel {
			t.Errorf("%s: the channel is at %d, the Broker at %d", overlays, channel, broker)
		}
	}
}

// trigger is one of those that an overlay renders.
func trigger(t *testing.T, d document) (tr eventingv1.Trigger) {
	t.Helper()
	d.into(t, &tr)
	return tr
}

func TestKafkaChangesHowTriggersAreServedAndNotWhatTheyTake(t *testing.T) {
	const order = "kafka.eventing.knative.dev/delivery.order"
	base, kafka := render(t), render(t, "kafka")
	triggers := 0
	for _, d := range kafka {
		if d.Kind != "Trigger" {
			continue
		}
		triggers++
		was, is := trigger(t, find(t, base, d.id())), trigger(t, d)
		if diff := cmp.Diff(was.Spec, is.Spec); diff != "" {
			t.Errorf("%s (-base +kafka)\n%s", d.id(), diff)
		}
		want := map[bool]string{true: "ordered", false: "unordered"}[is.Name == "scheduler"]
		if is.Annotations[order] != want {
			t.Errorf("%s is served %q, want %s", d.id(), is.Annotations[order], want)
		}
	}
	if triggers < len(stages) {
		t.Errorf("%d Triggers", triggers)
	}
	var was, is eventingv1.Broker
	find(t, base, "Broker sluice").into(t, &was)
	find(t, kafka, "Broker sluice").into(t, &is)
	if diff := cmp.Diff(was.Spec.Delivery, is.Spec.Delivery); diff != "" {
		t.Errorf("delivery (-base +kafka)\n%s", diff)
	}
	if c := is.Spec.Config; c == nil || c.Kind != "ConfigMap" || c.Namespace != "sluice-system" {
		t.Fatalf("the Broker's settings are %+v", is.Spec.Config)
	}
	var settings struct{ Data map[string]string }
	if err := yaml.Unmarshal(find(t, kafka, "ConfigMap "+is.Spec.Config.Name).raw, &settings); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"bootstrap.servers", "default.topic.partitions", "default.topic.replication.factor"} {
		if settings.Data[key] == "" {
			t.Errorf("the Broker's settings lack %s", key)
		}
	}
}

func TestWhereTheHubIsAnotherServerAllReadItUnderTheirOwnName(t *testing.T) {
	mounted := 0
	for _, d := range render(t, "hub-kubeconfig") {
		switch d.Kind {
		case "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "ApiServerSource":
			t.Errorf("%s is the hub's", d.id())
		}
		var o struct {
			Spec struct{ Template struct{ Spec corev1.PodSpec } }
		}
		if err := yaml.Unmarshal(d.raw, &o); err != nil || len(o.Spec.Template.Spec.Containers) == 0 || d.Metadata.Name == "redis" || d.Metadata.Name == "deadletter" {
			continue
		}
		mounted++
		pod, want := o.Spec.Template.Spec, "hub-"+d.Metadata.Name
		if d.Kind == "ContainerSource" {
			want = "hub-source"
			if pod.ServiceAccountName != "" || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("%s has an account on the Knative cluster", d.id())
			}
		}
		c := pod.Containers[0]
		env := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "KUBECONFIG" && e.Value == "/hub/kubeconfig" })
		if d.Kind == "Service" { // all of them, from one place
			env = len(c.EnvFrom) == 1 && c.EnvFrom[0].ConfigMapRef.Name == "functions"
		}
		if len(pod.Volumes) != 1 || pod.Volumes[0].Secret.SecretName != want || len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != "/hub" || !env {
			t.Errorf("%s: volumes %+v, mounts %+v, want Secret %s in /hub, and KUBECONFIG", d.id(), pod.Volumes, c.VolumeMounts, want)
		}
	}
	if want := len(deployed(t)); mounted != want { // without deadletter, and the source twice
		t.Errorf("%d have the hub's kubeconfig, want %d", mounted, want)
	}
}

// What the sweeper has a source watch, with its selector: one that is told otherwise
// at first starts anew with the first policy, and tells of nothing meanwhile.
func TestWhereTheHubIsAnotherServerItsTemplatesAreWatchedAsOnThisOne(t *testing.T) {
	var here sourcesv1.ApiServerSource
	find(t, render(t), "ApiServerSource templates").into(t, &here)
	var want []string
	for _, r := range here.Spec.Resources {
		gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		want = append(want, resource.String()+" !sluice.dev/binding")
	}
	var there sourcesv1.ContainerSource
	find(t, render(t, "hub-kubeconfig"), "ContainerSource templates").into(t, &there)
	var got struct {
		Mode          string
		AllNamespaces bool
		Namespaces    []string
		Resources     []struct {
			GVR      schema.GroupVersionResource
			Selector string
		}
	}
	env := there.Spec.Template.Spec.Containers[0].Env
	i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == sourceConfig })
	if err := json.Unmarshal([]byte(env[i].Value), &got); err != nil {
		t.Fatal(err)
	}
	var watched []string
	for _, r := range got.Resources {
		watched = append(watched, r.GVR.String()+" "+r.Selector)
	}
	if d := cmp.Diff(want, watched); d != "" {
		t.Errorf("(-this hub +another)\n%s", d)
	}
	if got.Mode != "Reference" || !got.AllNamespaces || !slices.Equal(got.Namespaces, []string{""}) {
		t.Errorf("%+v", got)
	}
}

func TestARedisOfOnesOwnIsWhereTheFunctionsLook(t *testing.T) {
	var s struct{ StringData map[string]string }
	if err := yaml.Unmarshal(find(t, render(t, "redis-external"), "Secret redis").raw, &s); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.StringData["address"], "rediss://") {
		t.Errorf("the address is %q, want one with TLS", s.StringData["address"])
	}
}

// settings are the variables of all functions.
func settings(t *testing.T, all []document) map[string]string {
	t.Helper()
	var c struct{ Data map[string]string }
	if err := yaml.Unmarshal(find(t, all, "ConfigMap functions").raw, &c); err != nil {
		t.Fatal(err)
	}
	return c.Data
}

func TestTriggersShowTheTokenThatFunctionsWant(t *testing.T) {
	want := settings(t, render(t, "oidc"))["OIDC_AUDIENCE"]
	for file, tr := range triggers(t) {
		if got := tr.Spec.Subscriber.Audience; got == nil || *got != want {
			t.Errorf("%s: the token is for %v, want %s", file, got, want)
		}
	}
	if got := settings(t, render(t, "hub-kubeconfig", "locked"))["OIDC_AUDIENCE"]; got != "" {
		t.Errorf("without the overlay the functions want a token for %s", got)
	}
}

// identity is the account that Knative has for an object of its own.
func identity(d document) string {
	group, _, _ := strings.Cut(d.APIVersion, "/")
	return "system:serviceaccount:sluice-system:" + strings.ToLower(kmeta.ChildName(d.Metadata.Name, "-oidc-"+group+"-"+d.Kind))
}

func TestOnlySluiceMayPublishOnItsBroker(t *testing.T) {
	all := render(t, "oidc")
	// What members have, and all that some hub has.
	want := []string{"system:serviceaccount:sluice-system:members-*"}
	for _, d := range append(all, render(t, "hub-kubeconfig", "oidc")...) {
		switch d.Kind {
		case "ContainerSource":
			// It is known by the SinkBinding that Knative makes for it.
			d.Kind, d.Metadata.Name = "SinkBinding", kmeta.ChildName(d.Metadata.Name, "-sinkbinding")
			want = append(want, identity(d))
		case "Trigger", "PingSource", "ApiServerSource", "SinkBinding":
			want = append(want, identity(d))
		}
	}
	var p eventingv1alpha1.EventPolicy
	find(t, all, "EventPolicy sluice").into(t, &p)
	var got []string
	for _, f := range p.Spec.From {
		got = append(got, *f.Sub)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("who may publish (-Sluice's own +policy)\n%s", d)
	}
	if to := p.Spec.To; len(to) != 1 || to[0].Ref.Kind != "Broker" || to[0].Ref.Name != "sluice" {
		t.Errorf("the policy is for %+v", to)
	}
}

func TestZ36RedisIsLockedByDefault(t *testing.T) {
	var p networkingv1.NetworkPolicy
	find(t, render(t), "NetworkPolicy redis").into(t, &p)
	if !slices.Equal(p.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) || len(p.Spec.Ingress) != 1 || len(p.Spec.Ingress[0].From) != 1 {
		t.Fatalf("%+v, want one rule of who may come in", p.Spec)
	}
	from := p.Spec.Ingress[0].From[0]
	selector, err := metav1.LabelSelectorAsSelector(from.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	if from.NamespaceSelector != nil || from.IPBlock != nil || !selector.Matches(labels.Set{"serving.knative.dev/service": "gate"}) || selector.Matches(labels.Set{"app.kubernetes.io/name": "source"}) {
		t.Errorf("%+v, want the functions of this namespace alone", from)
	}
}

// What make apply puts into the Secret is what Redis and functions look for.
func TestZ36RedisAndFunctionsReadOnePassword(t *testing.T) {
	all := render(t)
	var redis appsv1.Deployment
	find(t, all, "Deployment redis").into(t, &redis)
	spec := redis.Spec.Template.Spec
	args := strings.Join(spec.Containers[0].Args, " ")
	if v := spec.Volumes[0].Secret; v == nil || v.SecretName != "redis" || len(v.Items) != 1 || v.Items[0].Key != "redis.conf" || !strings.Contains(args, "--include "+spec.Containers[0].VolumeMounts[0].MountPath+"/*.conf") {
		t.Errorf("Redis is told %s, and mounts %+v", args, spec.Volumes)
	}
	asks := 0
	for _, d := range all {
		var o struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if d.Kind != "Service" || !strings.HasPrefix(d.APIVersion, "serving.knative.dev/") {
			continue
		}
		if err := yaml.Unmarshal(d.raw, &o); err != nil {
			t.Fatal(err)
		}
		env := map[string]corev1.SecretKeySelector{}
		for _, e := range o.Spec.Template.Spec.Containers[0].Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				env[e.Name] = *e.ValueFrom.SecretKeyRef
			}
		}
		if _, ok := env["REDIS_ADDRESS"]; !ok {
			continue
		}
		asks++
		if p := env["REDIS_PASSWORD"]; p.Name != "redis" || p.Key != "password" || p.Optional == nil || !*p.Optional {
			t.Errorf("%s: the password is %+v", d.Metadata.Name, p)
		}
	}
	if asks == 0 {
		t.Error("no function asks for a Redis")
	}
}

func TestNetworkPoliciesReachEveryPodOnce(t *testing.T) {
	all := render(t, "locked")
	policies := map[string]labels.Selector{}
	for _, d := range all {
		if d.Kind == "NetworkPolicy" {
			var p networkingv1.NetworkPolicy
			d.into(t, &p)
			selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			policies[p.Name] = selector
		}
	}
	for _, d := range all {
		var o struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := yaml.Unmarshal(d.raw, &o); err != nil || len(o.Spec.Template.Spec.Containers) == 0 {
			continue
		}
		pod := labels.Set(o.Spec.Template.Labels)
		if strings.HasPrefix(d.APIVersion, "serving.knative.dev/") {
			pod["serving.knative.dev/service"] = d.Metadata.Name // as Serving does
		}
		var by []string
		for name, selector := range policies {
			if selector.Matches(pod) {
				by = append(by, name)
			}
		}
		if len(by) != 1 {
			t.Errorf("%s: the pod's policies are %v, want one", d.id(), by)
		}
	}
}
