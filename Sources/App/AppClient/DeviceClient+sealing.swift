import AgentModel
import AppProtocol

extension DeviceClient {
    /// Asks for something that names networks. Over the network their passwords go sealed, so that nobody in between
    /// reads them, whatever becomes of the connection's key. The kernel's own socket needs no seal.
    ///
    /// Each attempt asks for the device's key first. Where it changed just then, or where the device knows the box
    /// already, nothing has happened yet, and sealing once more helps.
    func ask<Answer: Decodable>(
        naming networks: [NetworkReference], _ body: ([NetworkReference]) -> Request.Body
    ) async throws(ClientError) -> Answer {
        guard case .network(_, _, let device) = endpoint, networks.contains(where: \.hasPlainPassword) else {
            return try await ask(body(networks))
        }
        do {
            return try await ask(body(networks.sealed(with: agreeKey(), for: device)))
        } catch {
            guard case .refused(let refusal) = error, refusal.code == .keyRotated || refusal.code == .sealUsed else {
                throw error
            }
            return try await ask(body(networks.sealed(with: agreeKey(), for: device)))
        }
    }
}

extension [NetworkReference] {
    fileprivate func sealed(with key: SealingKey, for device: DeviceKey) throws(ClientError) -> [NetworkReference] {
        try map { reference throws(ClientError) in
            guard case .new(let network) = reference, case .password(let password) = network.credential else {
                return reference
            }
            do throws(ProtocolError) {
                let sealed = try key.seal(password, ssid: network.ssid, for: device)
                return .new(
                    NewNetwork(
                        ssid: network.ssid, credential: .sealed(sealed), security: network.security,
                        isHidden: network.isHidden))
            } catch {
                throw .refused(error)
            }
        }
    }
}

extension NetworkReference {
    fileprivate var hasPlainPassword: Bool {
        guard case .new(let network) = self, case .password = network.credential else { return false }
        return true
    }
}
