import AgentCore
import AgentModel
import AppProtocol
import Supplicant

// Wi-Fi Easy Connect: a network from a configurator starts a switch, like an app's command.
extension DeviceAgent {
    func listenForConfigurator(_ station: Station, _ isWanted: Bool) {
        let key = isWanted ? EasyConnectCode(of: identity.key).privateKey : nil
        Task {
            do throws(SupplicantError) {
                try await station.supplicant.listenForConfigurator(key)
                if isWanted { log.info("listening for a Wi-Fi Easy Connect configurator") }
            } catch {
                // An unavailable wpa_supplicant is not a failure: the core repeats the order when it is back.
                if isWanted, error != .unavailable { log.warning("Wi-Fi Easy Connect failed: \(error)") }
            }
        }
    }

    func handle(_ event: EasyConnectEvent, of station: Station) {
        switch event {
        case .authenticated: log.notice("a Wi-Fi Easy Connect configurator has read the device's code")
        case .failed(let reason):
            log.warning("the Wi-Fi Easy Connect configurator sent no network: \(reason)")
        case .network(let network):
            log.notice("the Wi-Fi Easy Connect configurator sent the network \(network.ssid)")
            Task {
                do throws(ProtocolError) {
                    try await join(network)
                } catch {
                    log.warning("cannot join \(network.ssid): \(error.message)")
                }
                handle(.configuratorLeft(station.id))
            }
        }
    }

    /// Starts the switch at once. An app's switch would wait until the app has received the answer.
    private func join(_ network: EasyConnectNetwork) async throws(ProtocolError) {
        let security: Security? = network.isForSAE ? .wpa3 : nil
        do { try Passphrase.validate(network.password, for: security) } catch {
            throw ProtocolError(.invalidPassword, "\(error)")
        }
        let target = NetworkReference.new(
            NewNetwork(ssid: network.ssid, password: network.password, security: security))
        let request = try await request(SwitchRequest(target: target, besideUplink: true))
        if case .switchStatus(let status) = try await answer(to: request) {
            handle(.answerSent(switchID: status.switchId))
        }
    }

    /// Derives the key outside of the loop.
    private nonisolated func request(_ request: SwitchRequest) async throws(ProtocolError) -> AgentRequest {
        try AgentRequest(request, openedWith: seals)
    }
}
