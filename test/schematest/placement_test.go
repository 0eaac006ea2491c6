// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

var placementRows = map[string]row{
	"clusterAffinity alone is accepted":   {spec: `placement: {clusterAffinity: {clusterNames: [a]}}`},
	"clusterAffinities alone is accepted": {spec: `placement: {clusterAffinities: [{affinityName: x, clusterNames: [a]}, {affinityName: z}]}`},
	"clusterAffinity and clusterAffinities exclude each other": {
		spec:      `placement: {clusterAffinity: {clusterNames: [a]}, clusterAffinities: [{affinityName: x}]}`,
		wantField: "spec.placement.clusterAffinities", want: "clusterAffinities cannot co-exist with clusterAffinity",
	},
	"an affinityName occurs once": {
		spec:      `placement: {clusterAffinities: [{affinityName: x}, {affinityName: x}]}`,
		wantField: "spec.placement.clusterAffinities[1]", want: "Duplicate value",
	},
	"an affinityName must not be empty": {
		spec:      `placement: {clusterAffinities: [{affinityName: ""}]}`,
		wantField: "spec.placement.clusterAffinities[0].affinityName", want: "at least 1 chars",
	},
	"an affinityName has at most 32 characters": {
		spec:      `placement: {clusterAffinities: [{affinityName: abcdefghijklmnopqrstuvwxyz-0123456}]}`,
		wantField: "spec.placement.clusterAffinities[0].affinityName", want: "Too long",
	},
	"a fieldSelector by zone is accepted": {
		spec: `placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}}}`,
	},
	"a fieldSelector by another field is rejected": {
		spec:      `placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: name, operator: In, values: [a]}]}}}`,
		wantField: "spec.placement.clusterAffinity.fieldSelector.matchExpressions", want: "key must be provider, region or zone",
	},
	"a fieldSelector with another operator is rejected": {
		spec:      `placement: {clusterAffinities: [{affinityName: x, fieldSelector: {matchExpressions: [{key: zone, operator: Exists}]}}]}`,
		wantField: "spec.placement.clusterAffinities[0].fieldSelector.matchExpressions", want: "operator must be In or NotIn",
	},

	"a toleration of everything is accepted": {spec: `placement: {clusterTolerations: [{operator: Exists}]}`},
	"a toleration by key and value is accepted": {
		spec: `placement: {clusterTolerations: [{key: a, value: b, effect: NoExecute, tolerationSeconds: 3}]}`,
	},
	"a toleration without a key needs Exists": {
		spec: `placement: {clusterTolerations: [{value: b}]}`, wantField: "spec.placement.clusterTolerations", want: "operator must be Exists when key is empty",
	},
	"a toleration with Exists has no value": {
		spec:      `placement: {clusterTolerations: [{key: a, operator: Exists, value: b}]}`,
		wantField: "spec.placement.clusterTolerations", want: "value must be empty when operator is Exists",
	},
	"a toleration with another operator is rejected": {
		spec:      `placement: {clusterTolerations: [{key: a, operator: Like}]}`,
		wantField: "spec.placement.clusterTolerations", want: "operator must be Equal or Exists",
	},
	"a toleration of another effect is rejected": {
		spec:      `placement: {clusterTolerations: [{key: a, operator: Exists, effect: Evict}]}`,
		wantField: "spec.placement.clusterTolerations", want: "effect must be",
	},
	"a tolerationSeconds that no client can read is rejected": {
		spec:      `placement: {clusterTolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 9223372036854775808}]}`,
		wantField: "spec.placement.clusterTolerations[0].tolerationSeconds", want: "must be of type int64",
	},
	"a maxGroups that no client can read is rejected": {
		spec:      `placement: {spreadConstraints: [{maxGroups: 1e30}]}`,
		wantField: "spec.placement.spreadConstraints[0].maxGroups", want: "less than or equal to",
	},
	"tolerationSeconds needs NoExecute": {
		spec:      `placement: {clusterTolerations: [{key: a, operator: Exists, tolerationSeconds: 3}]}`,
		wantField: "spec.placement.clusterTolerations", want: "effect must be NoExecute when tolerationSeconds is set",
	},

	"spreading by cluster is accepted":        {spec: `placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}]}`},
	"spreading without a field is by cluster": {spec: `placement: {spreadConstraints: [{spreadByField: region}, {maxGroups: 2}]}`},
	"spreading by label alone is accepted":    {spec: `placement: {spreadConstraints: [{spreadByLabel: rack}]}`},
	"maxGroups 0 is no bound":                 {spec: `placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 0}]}`},
	"spreading by region needs spreading by cluster": {
		spec:      `placement: {spreadConstraints: [{spreadByField: region, maxGroups: 2}]}`,
		wantField: "spec.placement.spreadConstraints", want: "the cluster spread constraint must be enabled",
	},
	"spreadByField and spreadByLabel exclude each other": {
		spec:      `placement: {spreadConstraints: [{spreadByField: cluster, spreadByLabel: rack}]}`,
		wantField: "spec.placement.spreadConstraints[0].spreadByLabel", want: "should not co-exist",
	},
	"maxGroups below minGroups is rejected": {
		spec:      `placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}`,
		wantField: "spec.placement.spreadConstraints[0].maxGroups", want: "lower than minGroups",
	},
	"a negative minGroups is rejected": {
		spec:      `placement: {spreadConstraints: [{spreadByField: cluster, minGroups: -1}]}`,
		wantField: "spec.placement.spreadConstraints[0].minGroups", want: "greater than or equal to 0",
	},
	"spreading by another field is rejected": {
		spec:      `placement: {spreadConstraints: [{spreadByField: rack}]}`,
		wantField: "spec.placement.spreadConstraints[0].spreadByField", want: "Unsupported value",
	},

	"an unknown replicaSchedulingType is rejected": {
		spec:      `placement: {replicaScheduling: {replicaSchedulingType: Shared}}`,
		wantField: "spec.placement.replicaScheduling.replicaSchedulingType", want: "Unsupported value",
	},
	"an unknown replicaDivisionPreference is rejected": {
		spec:      `placement: {replicaScheduling: {replicaDivisionPreference: Even}}`,
		wantField: "spec.placement.replicaScheduling.replicaDivisionPreference", want: "Unsupported value",
	},
	"a weight of 0 is rejected": {
		spec:      `placement: {replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {}, weight: 0}]}}}`,
		wantField: "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight", want: "greater than or equal to 1",
	},
	"an unknown dynamicWeight is rejected": {
		spec:      `placement: {replicaScheduling: {weightPreference: {dynamicWeight: Cost}}}`,
		wantField: "spec.placement.replicaScheduling.weightPreference.dynamicWeight", want: "Unsupported value",
	},
}

var failoverRows = map[string]row{
	"the older spelling of a purge mode is accepted": {
		spec: `failover: {application: {decisionConditions: {}, purgeMode: Graciously, gracePeriodSeconds: 30}}`,
	},
	"an unknown purge mode is rejected": {
		spec:      `failover: {application: {decisionConditions: {}, purgeMode: Later}}`,
		wantField: "spec.failover.application.purgeMode", want: "Unsupported value",
	},
	"a cluster's purge mode is Directly or Gracefully": {
		spec: `failover: {cluster: {purgeMode: Never}}`, wantField: "spec.failover.cluster.purgeMode", want: "Unsupported value",
	},
	"gracePeriodSeconds belongs to Gracefully": {
		spec:      `failover: {application: {decisionConditions: {}, purgeMode: Directly, gracePeriodSeconds: 30}}`,
		wantField: "spec.failover.application.gracePeriodSeconds", want: "only takes effect when purgeMode is Gracefully",
	},
	"gracePeriodSeconds is positive": {
		spec:      `failover: {application: {decisionConditions: {}, gracePeriodSeconds: 0}}`,
		wantField: "spec.failover.application.gracePeriodSeconds", want: "greater than or equal to 1",
	},
	"tolerationSeconds is not negative": {
		spec:      `failover: {application: {decisionConditions: {tolerationSeconds: -1}}}`,
		wantField: "spec.failover.application.decisionConditions.tolerationSeconds", want: "greater than or equal to 0",
	},
	"decisionConditions is needed": {
		spec: `failover: {application: {}}`, wantField: "spec.failover.application.decisionConditions", want: "Required",
	},
}
