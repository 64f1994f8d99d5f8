import AgentModel
import AppProtocol
import Harness

/// The networks around the model, as something that can be turned on and off.
struct ModelAir: AccessPointSwitch {
    let device: ModelDevice

    func names() async throws -> [String] { ModelDevice.air.map(\.0) }

    func turn(_ name: String, on isOn: Bool) async throws {
        guard let (_, password) = ModelDevice.air.first(where: { $0.0 == name }) else { return }
        try device.turn(SSID(name), Secret(text: password), on: isOn)
    }
}

extension ModelDevice {
    func turn(_ ssid: SSID, _ password: Secret, on isOn: Bool) {
        state.withLock { $0.air[ssid] = isOn ? password : nil }
        let isLost = state.withLock { !isOn && $0.current.ssid == ssid }
        if isLost, !has(.staysLost) { failOver() }
    }

    /// The network in use is gone: the first stored one that is on the air takes its place.
    private func failOver() {
        let next = state.withLock { state in
            ([state.home] + state.backups).first { $0.password != nil && state.air[$0.ssid] == $0.password }
        }
        guard let next else { return }
        let origin = state.withLock { $0.current }
        enter(next, .online)
        decide(from: origin, to: next)
    }
}
