// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/base64"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// missing sets what is not there.
func missing(in map[string]any, defaults map[string]any) {
	for k, v := range defaults {
		have, ok := in[k]
		if !ok {
			in[k] = v
			continue
		}
		if part, isMap := v.(map[string]any); isMap {
			if inner, isMap := have.(map[string]any); isMap {
				missing(inner, part)
			}
		}
	}
}

// part is the object at a path, made where there is none.
func part(in map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m, ok := in[p].(map[string]any)
		if !ok {
			m = map[string]any{}
			in[p] = m
		}
		in = m
	}
	return in
}

// setDefaults sets those that an API server sets which users of the kinds see most.
func setDefaults(u *unstructured.Unstructured) {
	switch u.GetKind() {
	case "Deployment":
		defaultDeployment(u.Object)
	case "Service":
		spec := part(u.Object, "spec")
		missing(spec, map[string]any{"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"})
		for _, p := range maps(spec["ports"]) {
			missing(p, map[string]any{"protocol": "TCP", "targetPort": p["port"]})
		}
	case "Secret":
		missing(u.Object, map[string]any{"type": "Opaque"})
	}
}

// fill puts the token into a Secret for one, at once and not as a controller manager does.
func (m *member) fill(u *unstructured.Unstructured) {
	if u.GetKind() == "Secret" && u.Object["type"] == string(corev1.SecretTypeServiceAccountToken) {
		part(u.Object, "data")[corev1.ServiceAccountTokenKey] = base64.StdEncoding.EncodeToString([]byte(m.token))
	}
}

func defaultDeployment(d map[string]any) {
	spec := part(d, "spec")
	missing(spec, map[string]any{"replicas": int64(1), "revisionHistoryLimit": int64(10), "progressDeadlineSeconds": int64(600)})
	strategy := part(spec, "strategy")
	missing(strategy, map[string]any{"type": "RollingUpdate"})
	if strategy["type"] == "RollingUpdate" {
		missing(strategy, map[string]any{"rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}})
	}
	pod := part(spec, "template", "spec")
	missing(pod, map[string]any{
		"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
		"terminationGracePeriodSeconds": int64(30), "securityContext": map[string]any{},
	})
	for _, c := range maps(pod["containers"]) {
		missing(c, map[string]any{
			"imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": map[string]any{},
		})
		for _, p := range maps(c["ports"]) {
			missing(p, map[string]any{"protocol": "TCP"})
		}
	}
}

func maps(list any) []map[string]any {
	var all []map[string]any
	items, _ := list.([]any)
	for _, i := range items {
		if m, ok := i.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// available is the status of a Deployment all of whose pods run.
func available(u *unstructured.Unstructured, now time.Time) map[string]any {
	replicas, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !ok {
		replicas = 1
	}
	at := now.UTC().Format(time.RFC3339)
	condition := func(kind, reason, message string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at, "lastUpdateTime": at}
	}
	status := map[string]any{
		"observedGeneration": u.GetGeneration(),
		"conditions": []any{
			condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
			condition("Progressing", "NewReplicaSetAvailable", "ReplicaSet has successfully progressed."),
		},
	}
	if replicas > 0 {
		for _, field := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"} {
			status[field] = replicas
		}
	}
	return status
}
