import AgentModel

struct StationFigures: Equatable {
    /// Signal of the last frame in dBm; nil if unknown.
    var signal: Int?
    /// Moving average of the beacons' signal in dBm, or of all frames' signal if there is no average of beacons.
    var average: Int?
    var inactive: Duration = .zero
    var connected: Duration = .zero
    var framesSent: UInt32 = 0
    var framesFailed: UInt32 = 0
    var framesReceived: UInt32 = 0
    var bytesSent: UInt64 = 0
    var bytesReceived: UInt64 = 0
    /// Transmit rate in kbit/s.
    var transmitRate: Int = 0
    var receiveRate: Int = 0

    /// Returns the firmware's record ("sta_info", version 4): 296 bytes, little-endian, times in seconds. It has no
    /// count of beacons.
    func record(of bssid: BSSID) -> [UInt8] {
        var record = [UInt8](repeating: 0, count: 296)
        record.put(little: UInt16(4), at: 0)
        record.put(little: UInt16(record.count), at: 2)
        record.put(little: Self.flags, at: 8)
        record.put(little: UInt32(clamping: inactive.components.seconds), at: 12)
        record.put(bssid.bytes, at: 16)
        record.put(little: UInt32(clamping: connected.components.seconds), at: 44)
        record.put(little: framesSent, at: 52)
        record.put(little: framesFailed, at: 56)
        record.put(little: framesReceived, at: 60)
        record.put(little: UInt32(clamping: transmitRate), at: 68)
        record.put(little: UInt32(clamping: receiveRate), at: 72)
        record.put(little: framesSent, at: 84)
        record.put(little: framesReceived, at: 88)
        record.put(little: bytesSent, at: 96)
        record.put(little: bytesReceived, at: 104)
        record.put(little: Int8(clamping: average ?? signal ?? 0), at: 144)
        record.put(little: Int8(clamping: AirBSS.noise), at: 148)
        record.put(little: Int8(clamping: signal ?? 0), at: 168)
        return record
    }

    /// Flags of the record: WMM, authenticated, associated, authorised, and valid figures.
    private static let flags: UInt32 = 0x02 | 0x08 | 0x10 | 0x20 | 0x4000
}
