import AppProtocol

@testable import Agent

extension FuzzTarget {
    /// What ModemManager says of modems, and networks through it.
    static let modem = FuzzTarget(
        "modem", "what ModemManager says of a modem, through root's helper", longest: 4096,
        seeds: {
            bytes([
                #"""
                altnet-modem 1
                modem
                State i 11
                SignalQuality (ub) 72 true
                AccessTechnologies u 16384
                Ports a(su) 2 "cdc-wdm0" 6 "wwan0" 2
                OperatorName s "T\303\251l \"1\""
                Lte a{sv} 2 "rssi" d -67 "rsrp" d -95.4
                bearer
                Interface s "wwan0"
                Connected b true
                end

                """#, "altnet-modem 1\nmodem\nState i -1\nend\n", "altnet-modem 1\nend\n",
            ])
        }
    ) { answer in
        guard let modems = try? ModemReport.read(answer) else { return }
        precondition(modems.count <= ModemReport.maximumModems)
        for modem in modems {
            precondition(modem.bearers.count <= ModemReport.maximumBearers)
            for interface in modem.interfaces { precondition(interface.isInterfaceName) }
            let status = modem.status(of: "wwan0")
            if let quality = status.quality { precondition((0...100).contains(quality)) }
            for strength in [status.rssi, status.rsrp].compactMap(\.self) {
                precondition((-200...0).contains(strength))
            }
            if let name = status.operator {
                precondition((1...ModemStatus.longestOperator).contains(name.count))
                precondition(name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f })
            }
            _ = modem.isConnected("wwan0")
        }
        _ = ModemReport.modem(of: "ppp0", among: modems)
    }
}
