import AgentModel

/// Wi-Fi Direct without groups. It has only the discovery device, which wpa_supplicant creates at its start.
extension Firmware {
    mutating func performForDirect(
        _ command: FirmwareCommand, at now: Instant
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        guard case .variable(let name) = command.subject else { return nil }
        switch (name, command.isSet) {
        case ("p2p_disc", true): return (.done, setDirect(isThere: command.argument.little(0) ?? UInt32(0) != 0))
        case ("p2p_dev", false): return (direct.map { .number($0.interface) } ?? .refused(.unsupported), [])
        case ("p2p_state", true):
            // The argument has the state, the channel, and the listening time in milliseconds.
            guard let state = command.argument.first, let time = command.argument.little(3, as: UInt16.self) else {
                throw .malformed("state of Wi-Fi Direct")
            }
            direct?.listensUntil = state == DirectDevice.listening ? now + .milliseconds(Int64(time)) : nil
            return (.done, [])
        case ("p2p_scan", true):
            // The argument has four further bytes, then an ordinary scan.
            return try performScan(command.argument.dropFirst(4), at: now)
        default: return nil
        }
    }

    private mutating func setDirect(isThere: Bool) -> [Effect] {
        guard isThere != (direct != nil) else { return [] }
        let device = direct ?? DirectDevice(interface: freeInterface)
        direct = isThere ? device : nil
        return [.event(.interface(device.interface, address, .direct, isThere: isThere))]
    }

    mutating func endListening(at now: Instant) -> [Effect] {
        guard let device = direct, let end = device.listensUntil, end <= now else { return [] }
        direct?.listensUntil = nil
        return [.event(FirmwareEvent(code: .listenComplete, interface: device.interface))]
    }
}

struct DirectDevice: Equatable {
    let interface: UInt8
    var listensUntil: Instant?

    fileprivate static let listening: UInt8 = 1
}
