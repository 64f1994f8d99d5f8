import AgentModel

/// Orders to the hidden station. It carries them out one after the other.
enum AirOrder: Equatable {
    case scan(UInt32, FirmwareScanOrder)
    case abortScan
    case join(JoinOrder)
    /// Sends the host's authentication frame for the current join.
    case authenticate(AuthenticationFrame)
    /// Associates with the access point. The host has authenticated.
    case associate
    case leave(reason: UInt16)
    case key(KeyOrder)
    case authorise(BSSID, Bool)
    case send(ArraySlice<UInt8>)
    case accessPoint(AccessPointAction)
}

/// Orders to the hidden radio's access point.
enum AccessPointAction: Equatable {
    case start(AccessPointOrder)
    case stop
    case key(KeyOrder)
    case authorise(BSSID, Bool)
    case end(BSSID, reason: UInt16)
    case send(ArraySlice<UInt8>)
}

/// Results of orders, and other events that the hidden radio reports.
enum AirEvent: Equatable {
    case scanned(UInt32, [AirBSS])
    case scanFailed(UInt32)
    /// The station has found the access point. Now the host must authenticate.
    case authenticationWanted(AirBSS)
    case authenticationFrame([UInt8], AirBSS)
    case joined(AirBSS, request: [UInt8], response: [UInt8])
    case joinFailed(BSSID?, isAbsent: Bool)
    case disconnected(reason: UInt16, isByAccessPoint: Bool)
    /// New figures of the link. `beacon` is the time of the last beacon; nil if none arrived since the previous
    /// measurement.
    case measured(StationFigures, beacon: Instant?)
    case stationJoined(BSSID, elements: [UInt8], isAgain: Bool)
    case stationLeft(BSSID, reason: UInt16)
}
