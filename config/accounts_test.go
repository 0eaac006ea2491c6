// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
)

// asked is a request of an account, and the policy that refuses it; none: it passes.
type asked struct {
	by string
	request
	refusedBy string
}

// The policies take a moment to hold: who has to be refused asks first.
func (l *lab) ask(client func(string) dynamic.Interface, all map[string]asked) {
	l.Helper()
	for _, passes := range []bool{false, true} {
		for name, tc := range all {
			if passes != (tc.refusedBy == "") {
				continue
			}
			l.Run(name, func(t *testing.T) {
				sub := &lab{T: t, cfg: l.cfg, admin: l.admin}
				sub.eventually(func() error {
					err := tc.on(sub, client)
					if tc.refusedBy == "" {
						return err
					}
					return refused(err, tc.refusedBy)
				})
			})
		}
	}
}

func (a asked) on(l *lab, client func(string) dynamic.Interface) error {
	return a.request.by(l.Context(), client(a.by), l.admin)
}

// TestZ36EachAccountIsHeldToWhatItNeeds impersonates each account that may write
// what is not Sluice's, on a real API server.
func TestZ36EachAccountIsHeldToWhatItNeeds(t *testing.T) {
	l := newLab(t)
	here, elsewhere := l.namespace("sluice.dev/templates=true"), l.namespace("")
	at := strings.NewReplacer("HERE", here, "ELSEWHERE", elsewhere).Replace
	l.apply([]byte(at(things)))
	l.apply([]byte(at("{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: HERE, name: of-a-daemonset, labels: {sluice.dev/binding: b}, " +
		"ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: nginx, uid: " + l.uid(at("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: HERE, name: nginx}}")) + "}]}, data: {}, revision: 1}")))
	l.apply([]byte(at("{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: HERE, name: frozen, labels: {sluice.dev/binding: b}}, data: {}, revision: 1}")))
	deployment := func(ns string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: " + ns + ", name: nginx}}"
	}
	const (
		claim    = "{metadata: {labels: {propagationpolicy.karmada.io/permanent-id: x}, annotations: {propagationpolicy.karmada.io/name: p, sluice.dev/baseline: b}}}"
		revision = "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: HERE, name: r, labels: {sluice.dev/binding: b}}, data: {}, revision: 1}"
		foreign  = "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: HERE, name: of-a-daemonset}}"
		said     = "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: HERE, name: said, labels: {sluice.dev/policy-uid: u}}, data: {}, revision: 1}"
		frozen   = "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: HERE, name: frozen}}"
		hooks    = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: sluice}}"
		source   = "{apiVersion: sources.knative.dev/v1, kind: ContainerSource, metadata: {namespace: sluice-system, name: member1}}"
		told     = "{apiVersion: sources.knative.dev/v1, kind: ContainerSource, metadata: {namespace: sluice-system, name: members-1}}"
		left     = "{apiVersion: sources.knative.dev/v1, kind: ContainerSource, metadata: {namespace: sluice-system, name: members-2}}"
		former   = "{apiVersion: sources.knative.dev/v1, kind: ContainerSource, metadata: {namespace: sluice-system, name: member-m2}}"
		sources  = "{apiVersion: sources.knative.dev/v1, kind: ContainerSource, metadata: {namespace: sluice-system, name: hub}}"
		objects  = "{apiVersion: sources.knative.dev/v1, kind: ApiServerSource, metadata: {namespace: sluice-system, name: templates}}"
		own      = "{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: gate}}"
		old      = "{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: applier-member1}}"
	)
	webhooks := func(hook string) string {
		return "{webhooks: [{name: a.sluice.dev, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, " + hook + "}]}"
	}
	cases := map[string]asked{}
	for _, by := range []string{"detector", "preemptor"} {
		for name, tc := range map[string]asked{
			"claims":                      {request: request{"patch", deployment(here), claim}},
			"lets a claim go elsewhere":   {request: request{"patch", deployment(elsewhere), "{metadata: {labels: {propagationpolicy.karmada.io/permanent-id: null}}}"}},
			"claims where no template is": {request: request{"patch", deployment(elsewhere), claim}, refusedBy: "sluice-claims-here"},
			"claims where none may be":    {request: request{"patch", "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: fleet-bounds, name: bounds}}", claim}, refusedBy: "sluice-claims"},
			"runs what it likes":          {request: request{"patch", deployment(here), "{spec: {template: {spec: {serviceAccountName: other}}}}"}, refusedBy: "sluice-claims"},
			"writes another label":        {request: request{"patch", deployment(here), "{metadata: {labels: {team: other}}}"}, refusedBy: "sluice-claims"},
			"takes a label away":          {request: request{"patch", deployment(here), "{metadata: {labels: {app: null}}}"}, refusedBy: "sluice-claims"},
			"writes another annotation":   {request: request{"patch", deployment(here), "{metadata: {annotations: {sluice.dev/other: x}}}"}, refusedBy: "sluice-claims"},
			"names an owner":              {request: request{"patch", deployment(here), "{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: x}]}}"}, refusedBy: "sluice-claims"},
			"keeps it from going":         {request: request{"patch", deployment(here), "{metadata: {finalizers: [example.org/x]}}"}, refusedBy: "sluice-claims"},
		} {
			tc.by = by
			cases[by+" "+name] = tc
		}
	}
	for name, tc := range map[string]asked{
		"keeps content":                       {"gate", request{"create", at(revision), ""}, ""},
		"makes a revision of nobody":          {"gate", request{"create", strings.Replace(at(revision), "sluice.dev/binding", "app", 1), ""}, "sluice-revisions"},
		"changes a DaemonSet's revision":      {"gate", request{"patch", at(foreign), "{revision: 7}"}, "sluice-revisions"},
		"deletes a DaemonSet's revision":      {"gate", request{"delete", at(foreign), ""}, "sluice-revisions"},
		"keeps what a policy says":            {"detector", request{"create", at(said), ""}, ""},
		"keeps what nobody said":              {"detector", request{"create", strings.Replace(at(said), "sluice.dev/policy-uid", "app", 1), ""}, "sluice-history"},
		"deletes what a controller keeps":     {"detector", request{"delete", at(foreign), ""}, "sluice-history"},
		"deletes frozen content":              {"detector", request{"delete", at(frozen), ""}, "sluice-history"},
		"brings replicas back":                {"reporter", request{"scale", deployment(elsewhere), "{spec: {replicas: 3}}"}, ""},
		"stops what runs":                     {"reporter", request{"scale", deployment(elsewhere), "{spec: {replicas: 0}}"}, "sluice-scale"},
		"makes a member's namespace":          {"renderer", request{"create", "{apiVersion: v1, kind: Namespace, metadata: {name: karmada-es-bounds}}", ""}, ""},
		"makes any namespace":                 {"renderer", request{"create", "{apiVersion: v1, kind: Namespace, metadata: {name: prod-bounds}}", ""}, "sluice-namespaces"},
		"tells by which certificate":          {"webhook", request{"update", hooks, webhooks("rules: [], clientConfig: {url: 'https://127.0.0.1:9/', caBundle: Q0E=}")}, ""},
		"reads along":                         {"webhook", request{"update", hooks, webhooks("rules: [], clientConfig: {url: 'https://127.0.0.1:10/'}")}, "sluice-webhook"},
		"stops the hub":                       {"webhook", request{"update", hooks, webhooks("clientConfig: {url: 'https://127.0.0.1:9/'}, rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]")}, "sluice-webhook"},
		"tells a source what to watch":        {"sweeper", request{"patch", source, pod("i:1", "e", "new")}, ""},
		"gives it the image of hub":           {"sweeper", request{"patch", source, pod("i:2", "e", "old")}, ""},
		"gives a source an image":             {"sweeper", request{"patch", source, pod("evil", "e", "old")}, "sluice-sources"},
		"gives a source an account":           {"sweeper", request{"patch", source, "{spec: {template: {spec: {serviceAccountName: other}}}}"}, "sluice-sources"},
		"sends elsewhere what a source says":  {"sweeper", request{"patch", source, "{spec: {sink: {uri: 'http://other'}}}"}, "sluice-sources"},
		"changes the source that others copy": {"sweeper", request{"patch", sources, pod("i:2", "e", "new")}, "sluice-sources"},
		"tells templates' source its kinds":   {"sweeper", request{"patch", objects, "{spec: {resources: [{apiVersion: v1, kind: Secret}]}}"}, ""},
		"gives templates' source an account":  {"sweeper", request{"patch", objects, "{spec: {serviceAccountName: other}}"}, "sluice-source-templates"},
		"makes a source of members":           {"sweeper", request{"create", ofMembers("members-7", "i:2", "kubeconfig"), ""}, ""},
		"makes one of another image":          {"sweeper", request{"create", ofMembers("members-8", "evil", "kubeconfig"), ""}, "sluice-sources-alike"},
		"makes one that has other Secrets":    {"sweeper", request{"create", ofMembers("members-8", "i:2", "password"), ""}, "sluice-sources-of-members"},
		"makes another source":                {"sweeper", request{"create", ofMembers("others", "i:2", "kubeconfig"), ""}, "sluice-sources-of-members"},
		"has a source tell of a member":       {"sweeper", request{"patch", told, has("kubeconfig")}, ""},
		"has it read with a reader's":         {"sweeper", request{"patch", told, has("reader.kubeconfig")}, ""},
		"gives a source another Secret":       {"sweeper", request{"patch", told, has("password")}, "sluice-sources"},
		"gives a member's source a Secret":    {"sweeper", request{"patch", source, has("kubeconfig")}, "sluice-sources"},
		"deletes a source of members":         {"sweeper", request{"delete", left, ""}, ""},
		"deletes a member's old source":       {"sweeper", request{"delete", former, ""}, ""},
		"deletes the hub's source":            {"sweeper", request{"delete", sources, ""}, "sluice-sources-of-members"},
		"deletes a member's old Trigger":      {"sweeper", request{"delete", old, ""}, ""},
		"deletes a stage's Trigger":           {"sweeper", request{"delete", own, ""}, "sluice-triggers"},
	} {
		cases[tc.by+" "+name] = tc
	}
	l.ask(l.account, cases)
}

// pod is the template of a source with that image and what it watches.
func pod(image, env, value string) string {
	return "{spec: {template: {spec: {containers: [{name: source, image: '" + image + "', env: [{name: " + env + ", value: x}, {name: K_SOURCE_CONFIG, value: " + value + "}]}]}}}}"
}

// has is a source with a key of a member's Secret.
func has(key string) string {
	return "{spec: {template: {spec: {volumes: [{name: members, projected: {sources: [{secret: {name: m1, items: [{key: " + key + ", path: m1/x}]}}]}}]}}}}"
}

// ofMembers is a source of a member, with a key of its Secret.
func ofMembers(name, image, key string) string {
	return "{apiVersion: sources.knative.dev/v1, kind: ContainerSource, metadata: {namespace: sluice-system, name: " + name + ", labels: {sluice.dev/source: members}}, " +
		"spec: {sink: {uri: 'http://broker'}, template: {spec: {automountServiceAccountToken: false, securityContext: {runAsNonRoot: true}, " +
		"containers: [{name: source, image: '" + image + "', securityContext: {readOnlyRootFilesystem: true}, env: [{name: e, value: x}, {name: K_SOURCE_CONFIG, value: new}]}], " +
		"volumes: [{name: members, projected: {sources: [{secret: {name: m1, items: [{key: " + key + ", path: m1/x}]}}]}}]}}}}"
}

// things are what the accounts want to change; Knative's are of sluice-system.
const things = `
{apiVersion: v1, kind: Namespace, metadata: {name: fleet-bounds, labels: {sluice.dev/templates: "true"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {namespace: fleet-bounds, name: bounds}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: HERE, name: nginx, labels: {app: nginx}}
spec:
  replicas: 0
  selector: {matchLabels: {app: nginx}}
  template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: nginx}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: ELSEWHERE, name: nginx, labels: {app: nginx, propagationpolicy.karmada.io/permanent-id: x}}
spec:
  replicas: 0
  selector: {matchLabels: {app: nginx}}
  template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: nginx}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: sluice}
webhooks: [{name: a.sluice.dev, rules: [], clientConfig: {url: 'https://127.0.0.1:9/'}, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore}]
---
apiVersion: sources.knative.dev/v1
kind: ContainerSource
metadata: {namespace: sluice-system, name: hub}
spec: {sink: {uri: 'http://broker'}, template: {spec: {securityContext: {runAsNonRoot: true}, containers: [{name: source, image: 'i:2', securityContext: {readOnlyRootFilesystem: true}, env: [{name: e, value: x}]}]}}}
---
apiVersion: sources.knative.dev/v1
kind: ContainerSource
metadata: {namespace: sluice-system, name: members-1, labels: {sluice.dev/source: members}}
spec: {sink: {uri: 'http://broker'}, template: {spec: {containers: [{name: source, image: 'i:1', env: []}], volumes: [{name: members, projected: {sources: []}}]}}}
---
apiVersion: sources.knative.dev/v1
kind: ContainerSource
metadata: {namespace: sluice-system, name: members-2, labels: {sluice.dev/source: members}}
spec: {sink: {uri: 'http://broker'}, template: {spec: {containers: [{name: source, image: 'i:1', env: []}]}}}
---
apiVersion: sources.knative.dev/v1
kind: ContainerSource
metadata: {namespace: sluice-system, name: member-m2, labels: {sluice.dev/cluster: m2}}
spec: {sink: {uri: 'http://broker'}, template: {spec: {containers: [{name: source, image: 'i:1', env: []}]}}}
---
apiVersion: sources.knative.dev/v1
kind: ContainerSource
metadata: {namespace: sluice-system, name: member1}
spec: {sink: {uri: 'http://broker'}, template: {spec: {containers: [{name: source, image: 'i:1', env: [{name: e, value: x}]}]}}}
---
apiVersion: sources.knative.dev/v1
kind: ApiServerSource
metadata: {namespace: sluice-system, name: templates}
spec: {serviceAccountName: source, resources: [{apiVersion: v1, kind: ConfigMap}]}
---
{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: gate, labels: {app.kubernetes.io/part-of: sluice}}, spec: {broker: sluice}}
---
{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: applier-member1, labels: {sluice.dev/cluster: member1}}, spec: {broker: sluice}}
`

// Secrets are granted to all accounts, where they are: who writes which, a policy says.
func TestZ36SecretsAreWrittenByWhoKeepsContent(t *testing.T) {
	l := newLab(t)
	here := l.namespace("sluice.dev/templates=true")
	secret := func(name, kind, labels string) string {
		return "{apiVersion: v1, kind: Secret, type: " + kind + ", metadata: {namespace: " + here + ", name: " + name + ", labels: {" + labels + "}}}"
	}
	accounts := deployed(t)
	l.apply([]byte(strings.ReplaceAll(secret("theirs", "Opaque", "")+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: HERE, name: all}
rules: [{apiGroups: [""], resources: [secrets], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: HERE, name: all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: all}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:serviceaccounts:sluice-system'}]
`, "HERE", here)))
	revision := secret("kept", "sluice.dev/revision", "sluice.dev/binding: b")
	cases := map[string]asked{
		"the gate keeps content":          {"gate", request{"create", revision, ""}, ""},
		"the gate takes a Secret away":    {"gate", request{"delete", secret("theirs", "Opaque", ""), ""}, "sluice-secrets"},
		"the renderer, beside no Work":    {"renderer", request{"create", secret("kept", "sluice.dev/contents", ""), ""}, "sluice-secrets"},
		"the detector claims a Secret":    {"detector", request{"patch", secret("theirs", "Opaque", ""), "{metadata: {labels: {propagationpolicy.karmada.io/permanent-id: x}}}"}, ""},
		"the detector fills it":           {"detector", request{"patch", secret("theirs", "Opaque", ""), "{stringData: {a: b}}"}, "sluice-claims"},
		"the webhook makes no token here": {"webhook", request{"create", secret("sluice-webhook", "Opaque", ""), ""}, "sluice-secrets"},
	}
	for _, by := range accounts {
		cases[by+" makes any Secret"] = asked{by, request{"create", secret("any", "Opaque", ""), ""}, "sluice-secrets"}
	}
	l.ask(l.account, cases)
}
