import AgentModel
import AppProtocol

extension RandomMessages {
    mutating func connectivity() -> Connectivity {
        Connectivity(
            level: maybe { $0.pick(ReachLevel.allCases) }, required: pick(ReachLevel.allCases),
            internet: pick(InternetState.allCases), problem: maybe { $0.pick(ReachProblem.allCases) },
            portal: maybe { $0.portal() }, targets: many(0...4) { $0.target() },
            reachability: ReachabilityFlags(many(0...3) { $0.pick(ReachabilityFlags.allNames).flag }),
            checked: maybe { $0.time() })
    }

    mutating func target() -> TargetStatus {
        TargetStatus(
            name: text(1...20), host: text(1...60), port: integer(1...65_535), state: pick(ConnectionState.allCases),
            reason: maybe { $0.pick(ReachProblem.allCases) }, since: time())
    }

    mutating func portal() -> Portal {
        Portal(
            url: maybe { $0.text(1...80) }, state: pick(Portal.State.allCases), provider: maybe { $0.text(1...20) },
            secondsRemaining: maybe { $0.integer(0...Int.max) }, bytesRemaining: maybe { $0.integer(0...Int.max) })
    }

    mutating func portalRequest() -> PortalRequest {
        PortalRequest(
            id: integer(1...Int.max), provider: text(1...20), network: name(), title: text(1...200),
            message: text(0...400), url: maybe { $0.text(1...80) },
            fields: many(0...ProtocolLimits.portalFields) { random in
                PortalRequest.Field(
                    name: random.text(1...128), label: random.text(0...200),
                    kind: random.pick(PortalRequest.Field.Kind.allCases), isRequired: .random(using: &random.random))
            })
    }

    mutating func portalAnswer() -> PortalAnswer {
        let values = many(0...ProtocolLimits.portalFields) { ($0.text(1...128), Secret(text: $0.text(0...100))) }
        return PortalAnswer(
            id: integer(1...Int.max), values: maybe { _ in Dictionary(values) { first, _ in first } })
    }

    mutating func diagnosis() -> Diagnosis {
        Diagnosis(
            steps: many(0...10) { random in
                Diagnosis.Step(
                    layer: random.pick(Diagnosis.Layer.allCases), result: random.pick(Diagnosis.Result.allCases),
                    found: random.text(1...80), remedy: random.maybe { $0.text(1...80) })
            }, checked: maybe { $0.time() })
    }
}
