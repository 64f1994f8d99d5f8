import AgentModel
import AppProtocol

// How far the model's network leads, and the portal that stands in the way.
extension ModelDevice {
    private static let broker = TargetStatus(
        name: "broker", host: "mqtt.example.com", port: 8883, state: .waiting, reason: .captive, since: .now)
    private static let hotspot = Portal(url: "https://portal.example.net/", state: .presentingUI, provider: "cafe")

    static let connectivity = Connectivity(
        level: .lan, required: .target, internet: .captive, problem: .captive, portal: hotspot, targets: [broker],
        reachability: [.reachable, .interventionRequired], checked: .now)

    var diagnosis: Diagnosis {
        let steps = Diagnosis.Layer.allCases.map { layer in
            layer < .internet
                ? Diagnosis.Step(layer: layer, result: .good, found: "it works")
                : Diagnosis.Step(layer: layer, result: .broken, found: "a portal answers", remedy: "Sign in.")
        }
        return Diagnosis(steps: has(.layersDisordered) ? steps.reversed() : steps)
    }

    var portal: PortalStatus {
        var request = PortalRequest(
            id: 4, provider: "cafe", network: NetworkName(ssid: state.withLock { $0.current.ssid }, hash: nil),
            title: "Sign in", message: "",
            fields: [PortalRequest.Field(name: "terms", label: "I accept", kind: .checkbox, isRequired: true)])
        if has(.portalNamesTwice) { request.fields += request.fields }
        if has(.portalTooLong) { request.fields[0].label = String(repeating: "a", count: 201) }
        return PortalStatus(portal: Self.hotspot, request: has(.portalUntold) ? nil : request)
    }

    func answer(_ answer: PortalAnswer) throws(ProtocolError) -> PortalStatus {
        guard has(.anyPortalAnswered) || answer.id == portal.request?.id else {
            throw ProtocolError(.unknownPortal, "the request was answered or is no longer needed")
        }
        return portal
    }
}

extension Diagnosis.Layer {
    fileprivate static func < (left: Self, right: Self) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}
