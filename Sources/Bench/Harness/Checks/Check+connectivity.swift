import AgentModel
import AppProtocol

extension Check {
    static let connectivity = [
        Check("network.get.connectivity", "says how far the network leads", section: "connectivity") { trial in
            try trial.needsFeature("connectivity")
            let answer = try await trial.open().ask(.getNetwork)
            let status = try answer.body(of: .getNetwork, as: NetworkStatus.self)
            guard let connectivity = status.connectivity else {
                throw Deviation("connectivity, which the features promise", got: "none")
            }
            let told = answer.json["body"]?["connectivity"]?["targets"]?.array?.map { $0["online"] } ?? []
            try expect("online for the state of each target", told, is: connectivity.targets.map { .bool($0.isOnline) })
            let names = connectivity.targets.map(\.name)
            try expect("each target once", Set(names).count == names.count, got: "\(names)")
            for target in connectivity.targets where target.isOnline {
                try expect("no reason for \(target.name), which answers", target.reason == nil, got: "one")
            }
        },
        Check("diagnosis.get", "tells of every layer, from the radio upwards", section: "diagnosis.get") { trial in
            try trial.needsFeature("connectivity")
            let patience = trial.target.patience + .seconds(ProtocolLimits.diagnosisSeconds)
            let wire: Wire
            do { wire = try await trial.open(handshake: nil, patience: patience) } catch {
                throw Deviation("the owner's connection", got: "none")
            }
            let diagnosis: Diagnosis = try await wire.get(.getDiagnosis)
            let order = diagnosis.steps.compactMap { Diagnosis.Layer.allCases.firstIndex(of: $0.layer) }
            try expect("the layers in their order", order == order.sorted(), got: "\(diagnosis.steps.map(\.layer))")
            let once = diagnosis.steps.filter { $0.layer != .target }.map(\.layer)
            try expect("each layer once", Set(once).count == once.count, got: "\(once)")
            let missing = Diagnosis.Layer.allCases.filter { layer in !diagnosis.steps.contains { $0.layer == layer } }
            try expect("every layer", missing.isEmpty, got: "none of \(missing)")
            for step in diagnosis.steps where step.result == .broken {
                try expect("what to do about \(step.layer)", step.remedy != nil, got: "nothing")
            }
        },
        Check("portal.get", "says what somebody is asked for", section: "portal.get, portal.answer") { trial in
            try trial.needsFeature("portal")
            let status: PortalStatus = try await trial.open().get(.getPortal)
            guard let request = status.request else {
                try expect(
                    "a request where somebody is asked", status.portal?.state != .presentingUI, got: "none")
                return
            }
            try expect("the state of who is asked", status.portal?.state, is: .presentingUI)
            let count = request.fields.count
            try expect(
                "at most \(ProtocolLimits.portalFields) fields", count <= ProtocolLimits.portalFields, got: "\(count)")
            let names = request.fields.map(\.name)
            try expect("each field once", Set(names).count == names.count, got: "\(names)")
        },
        Check(
            "portal.answer.unknown", "an answer to no request is an unknownPortal", section: "portal.get, portal.answer"
        ) { trial in
            try trial.needsFeature("portal")
            let wire = try await trial.open()
            let open = (try await wire.get(.getPortal, as: PortalStatus.self)).request?.id
            for id in [0, -1, .max, (open ?? 0) + 1_000_000] {
                try await wire.ask(.answerPortal, ["id": .integer(id), "values": [:]]).expectRefusal(.unknownPortal)
                try await wire.ask(.answerPortal, ["id": .integer(id), "cancel": true]).expectRefusal(.unknownPortal)
            }
            let after: PortalStatus = try await wire.get(.getPortal)
            if let open { try expect("the open request still", after.request?.id, is: open) }
        },
    ]
}
